"""Jobs of one kind, lived from their enqueueing to their end by one poller and one handler."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold import JobType, NewJob
from leasehold.kernel.execute import Execution, Executor
from leasehold.kernel.poll import Poller
from tests.meter import Meter
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.execute import Attempt
    from leasehold.kernel.payload import Json
    from tests.meter import Reading

TYPE = "send_order_receipt"
ENQUEUE, POLL, HANDLE = PHASES = ("enqueue", "poll", "handle")


# Where a deployed handler stands. With the path of a checkout in its traceback, a failure costs a unit more in one
# checkout than in another.
_HANDLER = "/var/task/handler.py"


class FirstTryError(Exception):
    """What a job that is retried fails with."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """group: the mode of the group that the jobs are members of. fails_once: each is tried a second time."""

    job_type: JobType = field(default_factory=lambda: JobType(name=TYPE))
    ended_index: bool = True
    is_deduplicated: bool = False
    fails_once: bool = False
    group: str | None = None


class Life:
    """`cpu_seconds` and `readings` are what each phase spent, the latter if `is_metered`; `table` has the jobs."""

    def __init__(
        self, client: DynamoDBClient, kind: Kind, jobs: int, given: dict[str, Json], *, is_metered: bool
    ) -> None:
        self.cpu_seconds = dict.fromkeys(PHASES, 0.0)
        self.readings: dict[str, list[Reading]] = {phase: [] for phase in PHASES}
        self._kind, self._jobs, self._given = kind, jobs, given
        self._deployed = RealQueue(client, [kind.job_type], ended_index=kind.ended_index)
        self.table = self._deployed.names.jobs
        self._inbox = Inbox()
        self._poller = Poller(self._deployed.process(), self._inbox, worker_id="poller-4f1c9a27")
        self._executor = Executor(self._deployed.process(), worker_id="handler-9d02b6e1")
        # Lambdas are warm: they know what is deployed before the first job comes.
        self._poller.poll()
        # Only now: a meter costs CPU itself, and what came before is not the jobs'.
        self._meter = Meter(client) if is_metered else None

    def live(self) -> None:
        self._spend(ENQUEUE, self._enqueue)
        completed = 0
        while completed < self._jobs:
            # The wait of a retry, or what lies between an enqueue and its wake.
            self._deployed.clock.advance(timedelta(minutes=5) if self._kind.fails_once else timedelta(seconds=1))
            self._spend(POLL, self._poller.poll)
            if not self._inbox.handovers:
                raise AssertionError(f"only {completed} of {self._jobs} jobs completed, and no other was handed over")
            completed += self._spend(HANDLE, self._handle)
        if self._kind.group is not None:
            self._spend(POLL, self._poller.poll)

    def _enqueue(self) -> None:
        queue = self._deployed.queue
        if self._kind.group is not None:
            members = [NewJob(job=TYPE, payload=self._given) for _ in range(self._jobs)]
            queue.groups.create(members, mode=self._kind.group)
            return
        for number in range(self._jobs):
            queue.enqueue(TYPE, self._given, dedup_key=f"o-{number}" if self._kind.is_deduplicated else None)

    def _handle(self) -> int:
        """How many of those that were handed over are completed by it."""
        handovers, self._inbox.handovers = self._inbox.handovers, []
        return [self._executor.execute(each, self._work) for each in handovers].count(Execution.COMPLETED)

    def _work(self, attempt: Attempt) -> None:
        if self._kind.fails_once and attempt.job.attempts == 1:
            raise FirstTryError("no answer")

    _work.__code__ = _work.__code__.replace(co_filename=_HANDLER)

    def _spend[T](self, phase: str, work: Callable[[], T]) -> T:
        began = time.process_time()
        try:
            return work()
        finally:
            self.cpu_seconds[phase] += time.process_time() - began
            if self._meter is not None:
                self.readings[phase].append(self._meter.take())
