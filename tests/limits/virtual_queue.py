"""A deployed queue in virtual time with the latencies of AWS: ticks, wakes, a waiting poller, handlers, operators.

Who does something takes as long as its calls take, while all others go on; hours of it run in seconds, and twice the
same. It reaches the library as a user does: by queue, operator, poller, worker, and the ports of table and clock.
"""

from __future__ import annotations

import json
from collections import deque
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from leasehold.aws.names import FREED_SOURCE
from leasehold.aws.polling import Wake
from leasehold.kernel.dynamodb.expressions import to_item
from leasehold.kernel.registry import Registry
from leasehold.runtime.handler import BaseJobHandler
from tests.latency import AWS
from tests.limits.figures import Figures, Start
from tests.limits.process import Process
from tests.limits.table import SharedTable
from tests.simulation.kernel import Kernel, current_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.table import Record
    from leasehold.operate.operator import Operator
    from leasehold.queue import Queue
    from tests.latency import Latencies

TICK = 60.0
# As deployed: see infra/poller.py.
_POLLERS_TIME = 120.0
_BATCH = 100
_OLDEST_RECORD = 60.0
# How often a program of its own polls.
_PROGRAM_PAUSE = 0.2


class Work(BaseModel):
    """label: what the case calls it, such as its tenant."""

    seconds: float = 5.0
    label: str = ""
    dies_after_end: bool = False


class VirtualQueue:
    def __init__(
        self,
        types: Iterable[JobType],
        *,
        latencies: Latencies = AWS,
        concurrency: int | None = None,
        resources: dict[str, int] | None = None,
        shards: int = 1,
        can_run: int | None = None,
    ) -> None:
        """can_run: how many handlers Lambda runs at once; the others wait in its queue. None for any number."""
        self.kernel = Kernel(Random("virtual queue"))
        self.figures = Figures()
        self._latencies = latencies
        self._shared = SharedTable(self.kernel, latencies, self.figures)
        self._numbers = 0
        self._can_run = can_run
        self._running = 0
        # What Lambda has accepted and not begun; and what of it waits for a place.
        self._accepted: deque[Handover] = deque()
        self._late: deque[Handover] = deque()
        self._idle: dict[str, list[Process]] = {}
        self._stream = _Stream(self)
        self._shared.on_change = self._stream.note
        self._shared.waker = self.wake
        self._setup = self._open("setup", "sdk")
        deployed = {each.name: each for each in types}
        self._handlers = dict.fromkeys(deployed, _handler_for(self))
        self._setup.operator.publish(
            Registry(types=deployed, concurrency=concurrency, resources=resources or {}, shards=shards)
        )
        self._pass_by_first_look()

    @property
    def queue(self) -> Queue:
        return self._setup.queue

    @property
    def operator(self) -> Operator:
        return self._setup.operator

    def hold_what_is_due(self) -> None:
        """Set up: one poll that takes no time. What it hands over starts when time begins to pass."""
        self._open("first-poller", "poller").poll(self)

    def let_settle(self) -> None:
        """What was set up until now happened long ago: the stream has told of it, and nothing more comes of that."""
        self._stream.forget()

    def begin(self, *, programs: int = 0) -> None:
        """From now on the queue is looked after; by so many programs, too, that poll all the time."""
        self._tick()
        for number in range(programs):
            self._spawn(self._open(f"program-{number}", "poller"), self._poll_for_ever, delay=0.01 * (number + 1))

    def poll_once(self, on_end: Callable[[Process], object]) -> None:
        """One poll of a container that is warm: it has read what is deployed."""
        process = self._open("poller", "poller")
        process.services.deployment.registry()
        self._spawn(process, lambda p: p.poll(self), on_end=lambda: on_end(process))

    def run(self, seconds: float, *, until: Callable[[], bool] = lambda: False) -> None:
        self.kernel.run(until, deadline=self.kernel.seconds + seconds)

    def after(self, seconds: float, act: Callable[[Process], object]) -> None:
        """Have somebody do something then, with calls that take their time."""
        self._spawn(self._open("somebody", "sdk"), act, delay=seconds)

    def close(self) -> None:
        self.kernel.close()

    def dispatch(self, handover: Handover, function: str | None) -> None:
        """The dispatcher port: accepted at once, begun a little later."""
        delay = self._invoke()
        self.figures.dispatched.append(self.kernel.seconds)
        self.kernel.later(delay, lambda: self._begin(handover))
        self._accepted.append(handover)
        self.figures.most_unstarted = max(self.figures.most_unstarted, len(self._accepted))

    def _begin(self, handover: Handover) -> None:
        """As soon as Lambda has room for it."""
        if self._can_run is not None and self._running >= self._can_run:
            self._late.append(handover)
            return
        self._running += 1
        self._accepted.remove(handover)
        self._spawn(
            self._take("handler"), lambda p: p.run(handover, self._handlers), on_end=self._end_of_handler, pooled=True
        )

    def _end_of_handler(self) -> None:
        self._running -= 1
        if self._late:
            self._begin(self._late.popleft())

    def start_poller(self, wake: Wake, on_end: Callable[[], object] | None = None) -> None:
        time_left = timedelta(seconds=_POLLERS_TIME)
        task = self._spawn(
            self._take("poller"),
            lambda p: p.answer(wake, self, start_another=self._start_another, time_left=time_left),
            on_end=on_end,
            pooled=True,
        )
        self.kernel.later(_POLLERS_TIME, lambda: self.kernel.kill(task))

    def started(self, work: Work, job_type: str) -> None:
        self.figures.starts.append(Start(at=self.kernel.seconds, job_type=job_type, label=work.label))

    @property
    def latencies(self) -> Latencies:
        return self._latencies

    def wake(self, scopes: Sequence[str]) -> None:
        """The waker port: an end that freed a seat starts a poller by itself."""
        wake = Wake.parse({"source": FREED_SOURCE, "scopes": list(scopes)})
        self.kernel.later(self._invoke(), lambda: self.start_poller(wake))

    def _start_another(self, payload: bytes) -> None:
        wake = Wake.parse(json.loads(payload))
        self.kernel.later(self._invoke(), lambda: self.start_poller(wake))

    def _invoke(self) -> float:
        """Wait until Lambda has accepted an event; how long it takes from there."""
        if self._setup.is_in_task:
            if self._latencies.cpu is not None:
                cast("Process", current_process()).compute(self._latencies.cpu.call)
            self.kernel.sleep(self._latencies.invoke)
        return self._latencies.invoke

    def _tick(self) -> None:
        self.kernel.later(TICK, self._tick)
        self.start_poller(Wake.parse({"source": "leasehold.tick"}))

    def _poll_for_ever(self, process: Process) -> None:
        while True:
            process.poll(self)
            self.kernel.sleep(_PROGRAM_PAUSE)

    def _pass_by_first_look(self) -> None:
        """Newly deployed types are looked at once; no case is about that."""
        self.hold_what_is_due()
        self.figures.writes.clear()

    def _open(self, name: str, role: str) -> Process:
        self._numbers += 1
        return Process(f"{name}-{self._numbers}", role, self.kernel, self._shared)

    def _take(self, role: str) -> Process:
        """A container that has worked before, if one is idle."""
        idle = self._idle.get(role)
        return idle.pop() if idle else self._open(role, role)

    def _spawn(
        self,
        process: Process,
        act: Callable[[Process], object],
        *,
        delay: float = 0.0,
        on_end: Callable[[], object] | None = None,
        pooled: bool = False,
    ) -> Any:
        def ended() -> None:
            if pooled and not task.is_killed and not process.dies_after_end:
                self._idle.setdefault(process.role, []).append(process)
            if on_end is not None:
                on_end()

        task = self.kernel.spawn(
            process.name, lambda: act(process), process=cast("Any", process), delay=delay, on_end=ended
        )
        return task


class _Stream:
    """One shard of the job table's stream: one invocation at a time, and what waited too long is dropped."""

    def __init__(self, queue: VirtualQueue) -> None:
        self._queue = queue
        self._records: list[tuple[float, Any]] = []
        self._is_busy = False
        self._settled = 0

    def forget(self) -> None:
        self._settled += 1

    def note(self, record: Record) -> None:
        if record.get("wake") is not True:
            return
        event = {"eventSource": "aws:dynamodb", "eventName": "MODIFY", "dynamodb": {"NewImage": to_item(record)}}
        made_at, settled = self._queue.kernel.seconds, self._settled
        self._queue.kernel.later(self._queue.latencies.stream, lambda: self._arrive(made_at, settled, event))

    def _arrive(self, made_at: float, settled: int, event: Any) -> None:
        if settled == self._settled:
            self._records.append((made_at, event))
            self._go_on()

    def _go_on(self) -> None:
        oldest = self._queue.kernel.seconds - _OLDEST_RECORD
        self._records = [each for each in self._records if each[0] >= oldest]
        if self._is_busy or not self._records:
            return
        batch, self._records = self._records[:_BATCH], self._records[_BATCH:]
        self._is_busy = True
        self._queue.start_poller(Wake.parse({"Records": [event for _, event in batch]}), self._freed)

    def _freed(self) -> None:
        self._is_busy = False
        self._go_on()


def _handler_for(queue: VirtualQueue) -> type[BaseJobHandler]:
    class Handler(BaseJobHandler):
        @classmethod
        def payload_model(cls) -> type[BaseModel]:
            return Work

        def handle(self, payload: Work, context: Any) -> None:
            queue.started(payload, context.job_type)
            queue.kernel.sleep(payload.seconds)
            queue.figures.ended.append(queue.kernel.seconds)
            cast("Process", current_process()).dies_after_end = payload.dies_after_end

    return Handler


def works(count: int, job_type: str, *, key: str | None = None, **work: Any) -> Sequence[Any]:
    """So many new jobs of one type and key."""
    from leasehold.kernel.enqueue import NewJob

    label = work.pop("label", key or job_type)
    payload = Work(label=label, **work).model_dump()
    return [NewJob(job=job_type, payload=payload, concurrency_key=key) for _ in range(count)]
