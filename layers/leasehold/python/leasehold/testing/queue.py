"""A whole queue in memory for users' tests: the real engine, a fake clock, and handlers that run when told to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any

from leasehold.features import Store
from leasehold.groups.sdk import Groups
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.job import job_of
from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import key_of
from leasehold.kernel.lanes import lanes_by_priority
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.partitions import of_jobs, records_in
from leasehold.kernel.poll import Poller
from leasehold.kernel.ports import KnownIdentity
from leasehold.kernel.registry import Registry
from leasehold.kernel.services import Services
from leasehold.kernel.times import instant
from leasehold.kernel.type_options import DELIVERY
from leasehold.operate.operator import Operator
from leasehold.queue import Queue
from leasehold.runtime.loading import describe
from leasehold.runtime.worker import Worker
from leasehold.schemas.publish import with_schemas
from leasehold.testing.clock import FakeClock, SeededRandomSource
from leasehold.testing.recorder import Recorder, Told, receiver
from leasehold.webhooks.model import delivery_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from leasehold.direct_runs.model import DirectAnswer, DirectRun
    from leasehold.kernel.execute import Execution
    from leasehold.kernel.job import Job
    from leasehold.kernel.payload import Json
    from leasehold.kernel.ports import Handover
    from leasehold.runtime.handler import Handler


@dataclass(slots=True)
class Drained:
    """How many hand-overs went how: `drained["completed"]`, `drained["failed"]`, …"""

    counts: Counter[str]

    def __getitem__(self, execution: str) -> int:
        return self.counts[execution]

    @property
    def total(self) -> int:
        return self.counts.total()


class LeaseholdTest:
    """A queue with its handlers, in memory. The pytest fixture `leasehold` makes one per test.

    >>> test = LeaseholdTest({"greet": Greet})                                 # doctest: +SKIP
    >>> test.queue.enqueue("greet", {"name": "Ada"})                           # doctest: +SKIP
    >>> test.assert_enqueued("greet", {"name": "Ada"})                         # doctest: +SKIP
    >>> test.drain()["completed"]                                              # doctest: +SKIP
    1

    Payloads go through the real JSON encoding, so what a deployed queue would refuse is refused here too.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler] | None = None,
        *,
        types: Iterable[JobType] = (),
        clock: FakeClock | None = None,
        inline: bool = False,
    ) -> None:
        self.clock = clock or FakeClock()
        self.telemetry = Recorder()
        self.inline = inline
        # What receivers of webhooks were told; a test reads it, and nothing is sent.
        self.told: list[Told] = []
        self._handlers: dict[str, Handler] = {DELIVERY: receiver(self.told)}
        self._types: dict[str, JobType] = {}
        self._counts = Counter[str]()
        self.services = Services(
            store=Store(MemoryTable()),
            clock=self.clock,
            random_source=SeededRandomSource(),
            telemetry=self.telemetry,
            caller=self,
        )
        self.services.identity = KnownIdentity("test")
        self.queue: Queue = _InlineQueue(self.services, self)
        self.operator = Operator(self.services)
        self._worker = Worker(self.services, self._handlers, worker_id="test", limit_time=False)
        self._poller = Poller(self.services, self, worker_id="test")
        settings, handlers = {each.name: each for each in types}, handlers or {}
        for name in {**handlers, **settings}:
            self.register(name, handlers.get(name), settings.get(name))
        if not self._types:
            self._publish()

    def register(self, name: str, handler: Handler | None, job_type: JobType | None = None) -> None:
        """Add a job type; without a handler its jobs can be enqueued, but not drained."""
        self._types[name] = job_type or JobType(name=name)
        if handler is not None:
            self._handlers[name] = handler
        self._publish()

    def _publish(self) -> None:
        registry = Registry(types={**self._types, DELIVERY: delivery_type()})
        asked = {name: "test" for name in self._handlers if name in self._types}
        # As a deployment does, so that payloads that do not fit are refused here too.
        self.operator.publish(with_schemas(registry, asked, self._describe, self.services) if asked else registry)

    def _describe(self, job_type: JobType) -> dict[str, Any] | None:
        try:
            return describe(self._handlers[job_type.name])
        except NotImplementedError:
            return None  # one without a model of its own, which only a test has

    def jobs(self, job_type: str | None = None) -> list[Job]:
        """All jobs, ended ones included, by the time they were scheduled for."""
        found = [job for job in self._stored() if job_type is None or job.job_type == job_type]
        return sorted(found, key=lambda job: key_of(job.job_id).sk)

    def _stored(self, *job_types: str) -> list[Job]:
        partitions = of_jobs(self.services.deployment.registry(), *job_types)
        stored = [job_of(record) for each in partitions for record in records_in(self.services.store.table, each)]
        return [self.services.store.payloads.shown(job) for job in stored]

    def assert_enqueued(
        self,
        job_type: str,
        payload: Mapping[str, Json] | None = None,
        *,
        run_at: datetime | None = None,
        **fields: object,
    ) -> Job:
        """Fail unless a job like this waits; `payload` need only be part of the job's. Returns the job."""
        waiting = [job for job in self.jobs(job_type) if job.status.is_waiting]
        matching = [job for job in waiting if _matches(job, payload, run_at, fields)]
        if not matching:
            seen = "\n".join(f"  {job.job_type} {job.payload} at {job.scheduled_for}" for job in waiting) or "  none"
            raise AssertionError(f"no waiting {job_type} job with {payload}, {run_at}, {fields}. Waiting are:\n{seen}")
        return matching[0]

    def refute_enqueued(
        self,
        job_type: str,
        payload: Mapping[str, Json] | None = None,
        *,
        run_at: datetime | None = None,
        **fields: object,
    ) -> None:
        """Fail if a job like this waits."""
        for job in self.jobs(job_type):
            if job.status.is_waiting and _matches(job, payload, run_at, fields):
                raise AssertionError(f"{job_type} job {job.job_id} waits with {job.payload} at {job.scheduled_for}")

    def drain(self, *, until_idle: bool = False, at_most: int = 1000) -> Drained:
        """Run what is due now. With `until_idle`, let the clock jump to whatever is next until nothing waits."""
        before = self._counts.copy()
        while True:
            report = self._poller.poll()
            # Those of an inline queue, which drains inside a handler that this drain runs, are among them.
            drained = Drained(self._counts - before)
            if drained.total > at_most:
                raise InvalidOptionError(
                    at_most, "drain ran more hand-overs than at_most", "A handler may enqueue or snooze for ever."
                )
            if report.claimed or report.settled or report.expired or report.turned_away:
                continue  # what just ran or ended may have made more work that is due now
            upcoming = self._next_due_at() if until_idle else None
            if upcoming is None or report.stopped_by == "halt":
                return drained
            self.clock.move_to(max(upcoming, instant(self.clock.now() + timedelta(milliseconds=1))))

    def dispatch(self, handover: Handover, function: str | None) -> None:
        """The dispatcher port: run the hand-over here and now."""
        self._counts[self.run(handover)] += 1

    def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
        """The same for a batch."""
        self._counts.update(self._worker.run_batch(handovers).values())

    def run(self, handover: Handover) -> Execution:
        return self._worker.run(handover)

    def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
        """The caller port: direct runs happen here and now."""
        return self._worker.run_directly(run)

    def _next_due_at(self) -> datetime | None:
        lanes = [lane for level in lanes_by_priority(1) for lane in level]
        upcoming = [at for lane in lanes if (at := self.services.store.listings.next_due(lane)) is not None]
        waiting = any(not job.has_ended for job in (*self._stored(), *self._stored(DELIVERY)))
        return min(upcoming) if upcoming and waiting else None


def _then_run(verb: Any) -> Any:
    """What was just made runs at once, if the test asked for that."""

    @wraps(verb)
    def act(self: _InlineQueue | _InlineGroups, *args: Any, **options: Any) -> Any:
        made = verb(self, *args, **options)
        if self.test.inline:
            self.test.drain()
        return made

    return act


class _InlineGroups(Groups):
    def __init__(self, services: Services, test: LeaseholdTest) -> None:
        super().__init__(services)
        self.test = test

    create = _then_run(Groups.create)


class _InlineQueue(Queue):
    def __init__(self, services: Services, test: LeaseholdTest) -> None:
        super().__init__(services)
        self.test = test

    enqueue = _then_run(Queue.enqueue)
    enqueue_many = _then_run(Queue.enqueue_many)

    @property
    def groups(self) -> Groups:
        return _InlineGroups(self._services, self.test)


def _matches(
    job: Job, payload: Mapping[str, Json] | None, run_at: datetime | None, fields: Mapping[str, object]
) -> bool:
    actual = job.payload
    return (
        (run_at is None or job.scheduled_for == instant(run_at))
        and all(getattr(job, name) == value for name, value in fields.items())
        and (payload is None or (isinstance(actual, dict) and payload.items() <= actual.items()))
    )
