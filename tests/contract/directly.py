"""Direct runs on a contract world: the caller is a process of its own, and others do things while it sleeps."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold import Queue
from leasehold.direct_runs.next_slot import NextSlot
from leasehold.features import Store
from leasehold.kernel.execute import Attempt, Executor
from leasehold.kernel.services import Services
from leasehold.kernel.type_options import type_scope

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.direct_runs.model import DirectAnswer, DirectRun
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.payload import Json
    from leasehold.kernel.ports import Handover
    from tests.contract.world import World

TIMEOUT = timedelta(seconds=60)


class Caller:
    """Calls the world's worker, or fails as `failure` says."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.failure: BaseException | None = None
        self.called: list[DirectRun] = []

    def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
        self.called.append(run)
        if self.failure is not None:
            raise self.failure
        return self._world.worker.run_directly(run)


class _PausingClock:
    """The world's clock; at each pause of the direct run the next thing happens."""

    def __init__(self, world: World, meanwhile: deque[Callable[[], object]]) -> None:
        self._clock = world.clock
        self._meanwhile = meanwhile

    def now(self) -> datetime:
        return self._clock.now()

    def sleep(self, duration: timedelta) -> None:
        self._clock.advance(duration)
        if self._meanwhile:
            self._meanwhile.popleft()()


class DirectRunner:
    def __init__(self, world: World) -> None:
        self._world = world
        self._meanwhile: deque[Callable[[], object]] = deque()
        self.caller = Caller(world)
        self.services = Services(
            store=Store(world.table),
            clock=_PausingClock(world, self._meanwhile),
            random_source=world.services.random_source,
            telemetry=world.recorder,
            caller=self.caller,
        )
        self.queue = Queue(self.services)

    def meanwhile(self, *things: Callable[[], object]) -> None:
        """What happens while the next direct run waits, one thing at each of its pauses."""
        self._meanwhile.extend(things)

    def run(self, job_type: str, payload: Json = None, *, timeout: timedelta = TIMEOUT) -> Json:
        return self.queue.run_now(job_type, payload, timeout=timeout)

    def reserve(self, job_type: str, run_id: str = "direct-of-another") -> NextSlot:
        """Reserve for a caller that is at its run, or has just died."""
        slot = NextSlot(self._world.types[job_type], run_id, self.services, timeout=TIMEOUT)
        slot.reserve()
        slot.clear()
        return slot


def started(world: World, handover: Handover) -> Attempt:
    """The job's handler is at work; the test says when it ends."""
    attempt = Executor(world.services, worker_id="at-work").begin(handover)
    assert isinstance(attempt, Attempt)
    return attempt


def what_is_taken(world: World, job_type: str) -> tuple[bool, list[int]]:
    """Whether the type is reserved, and its taken seats."""
    is_reserved = job_type in world.store.control.switches().reservations
    return is_reserved, sorted(world.store.lines.scope(type_scope(job_type)).seats)
