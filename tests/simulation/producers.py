"""Producers: what programs ask of the queue. Few keys and few jobs, so that they meet."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import BotoCoreError, ClientError

from leasehold.kernel.dedup import Day, Within
from leasehold.kernel.enqueue import Enqueued, NewJob
from tests.simulation.invariants.dedup import BURST

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.process import Process
    from tests.simulation.world import World

_WEBHOOK = "https://receiver.example/hook"
_BACKLOG = 10


class Producer:
    """Asks for one thing at a time; `makes` says how many jobs each thing makes at most."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random_source = world.random_source

    def act(self, action: str) -> None:
        act, makes = ACTIONS[action] if action in ACTIONS else ONLY_IN_SCENES[action]
        self._world.coverage.actions[action] += 1
        self._world.fleet.invoke("producer", "sdk", lambda process, _: act(self, process), makes=makes)

    def _type(self) -> str:
        return self._random_source.choice(self._world.plan.types)

    def _work(self) -> dict[str, Any]:
        seconds = round(self._random_source.uniform(0.0, self._world.plan.work), 2)
        work = {"mode": self._random_source.choice(self._world.plan.modes), "seconds": seconds}
        # Large enough to be kept apart from the job.
        return (
            {**work, "pad": f"{self._random_source.getrandbits(20_000):x}"}
            if self._random_source.random() < 0.1
            else work
        )

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self._random_source.random() < 0.5:
            options["concurrency_key"] = self._random_source.choice("ab")
        if self._random_source.random() < 0.3:
            options["priority"] = self._random_source.choice((0, 1, 2, 3))
        return options

    def _enqueue(self, process: Process, **options: Any) -> None:
        wanted = {**self._options(), **options}
        self._world.acknowledge(process.queue.enqueue(self._type(), self._work(), **wanted))

    def plain(self, process: Process) -> None:
        self._enqueue(process)

    def delayed(self, process: Process) -> None:
        self._enqueue(process, run_in=timedelta(seconds=self._random_source.choice((1, 5, 20))))

    def last(self, process: Process) -> None:
        """One attempt, and no other."""
        self._enqueue(process, max_attempts=1)

    def deduplicated(self, process: Process) -> None:
        window = self._random_source.choice((None, Within(timedelta(seconds=30)), Day()))
        self._enqueue(process, dedup_key=self._random_source.choice("xy"), dedup_window=window)

    def replacing(self, process: Process) -> None:
        delay = timedelta(seconds=self._random_source.choice((0, 3)))
        self._enqueue(process, dedup_key="x", on_duplicate="replace", run_in=delay)

    def starting_by(self, process: Process) -> None:
        start_by = process.now() + timedelta(seconds=self._random_source.choice((1, 5, 15)))
        self._enqueue(process, start_by=start_by)

    def debounced(self, process: Process) -> None:
        self._enqueue(process, dedup_key=BURST, debounce=timedelta(seconds=self._random_source.choice((0.5, 2))))

    def hooked(self, process: Process) -> None:
        self._enqueue(process, webhook=_WEBHOOK)

    def many(self, process: Process) -> None:
        jobs = [NewJob(job=self._type(), payload=self._work(), **self._options()) for _ in range(3)]
        for result in process.queue.enqueue_many(jobs):
            if isinstance(result, Enqueued):
                self._world.acknowledge(result)

    def backlog(self, process: Process) -> None:
        """So many of one type at once that most of them wait."""
        name = self._type()
        jobs = [NewJob(job=name, payload=self._work(), **self._options()) for _ in range(_BACKLOG)]
        for result in process.queue.enqueue_many(jobs):
            if isinstance(result, Enqueued):
                self._world.acknowledge(result)

    def steady(self, process: Process) -> None:
        """One after the other, for a while: a poll that goes on for long always finds something."""
        jobs = [
            NewJob(job="plain", payload={"mode": "result"}, run_in=timedelta(seconds=3 * number))
            for number in range(_BACKLOG)
        ]
        for result in process.queue.enqueue_many(jobs):
            if isinstance(result, Enqueued):
                self._world.acknowledge(result)

    def direct(self, process: Process) -> None:
        """A run without a job, whose caller waits for it."""
        process.queue.run_now(self._type(), self._work(), timeout=timedelta(seconds=20))

    def grouped(self, process: Process) -> None:
        random_source = self._random_source
        jobs = [NewJob(job=self._type(), payload=self._work()) for _ in range(random_source.choice((2, 3)))]
        created = process.queue.groups.create(
            jobs,
            mode=random_source.choice(("sequential", "parallel")),
            on_failure=random_source.choice(("stop", "continue", "skip_remaining")),
            callback=NewJob(job="plain", payload={"mode": "result"}) if random_source.random() < 0.5 else None,
            reason="made" if random_source.random() < 0.3 else None,
        )
        for number in range(created.group.total):
            self._world.acknowledged[created.group.member_id(number)] = None

    def scheduled(self, process: Process) -> None:
        random_source = self._random_source
        process.queue.schedules.create(
            random_source.choice(("s1", "s2")),
            self._type(),
            self._work(),
            every=timedelta(seconds=60),
            missed=random_source.choice(("latest", "all", "skip")),
            overlap=random_source.choice(("skip", "queue", "allow")),
        )

    def templated(self, process: Process) -> None:
        name = self._random_source.choice(("t1", "t2"))
        try:
            process.queue.templates.create(name, self._type(), self._work(), max_attempts=2)
        finally:
            self._world.acknowledge(process.queue.enqueue(template=name, payload={"seconds": 0.5}))

    def outbox(self, process: Process) -> None:
        job = process.queue.transact_items(self._type(), self._work(), **self._options())
        order: Any = self._world.counted(f"order-{job.job_id}")
        # The caller's own transaction, and so are its errors.
        with suppress(ClientError, BotoCoreError):
            process.client.transact_write_items(TransactItems=cast("Any", [*job.items, order]))
            self._world.acknowledged[job.job_id] = None


ACTIONS: dict[str, tuple[Callable[[Producer, Process], None], int]] = {
    "plain": (Producer.plain, 1),
    "delayed": (Producer.delayed, 1),
    "last": (Producer.last, 1),
    "deduplicated": (Producer.deduplicated, 1),
    "replacing": (Producer.replacing, 1),
    "starting_by": (Producer.starting_by, 1),
    "hooked": (Producer.hooked, 1),
    "many": (Producer.many, 3),
    "backlog": (Producer.backlog, _BACKLOG),
    "steady": (Producer.steady, _BACKLOG),
    "direct": (Producer.direct, 0),
    "grouped": (Producer.grouped, 3),
    "scheduled": (Producer.scheduled, 0),
    "templated": (Producer.templated, 1),
    "outbox": (Producer.outbox, 1),
}
# Seeds do not draw these yet: all of them would become others.
ONLY_IN_SCENES: dict[str, tuple[Callable[[Producer, Process], None], int]] = {"debounced": (Producer.debounced, 1)}
