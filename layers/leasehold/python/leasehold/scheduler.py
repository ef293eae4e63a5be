"""The scheduler port of deadline monitoring: five calls, for code that wants to know no more of the queue.

`get_pending_jobs` claims what it returns, and the adapter keeps the leases: a job that it returned is this adapter's
until it is marked, or until its lease expires and it is given to somebody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from leasehold.kernel.end import Failure
from leasehold.kernel.errors import (
    PAYLOAD_IS_LOST,
    InvalidOptionError,
    LeaseLostError,
    StoreUnavailableError,
    WrongStateError,
)
from leasehold.kernel.execute import Attempt, Executor
from leasehold.kernel.keys import JobId, parse_job_id
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.operate import jobs as operate
from leasehold.runtime.signals import fail, failure_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.payload import Json
    from leasehold.kernel.ports import Handover
    from leasehold.limits.model import ConcurrencyPolicy
    from leasehold.queue import Queue


class JobSchedulerProtocol(Protocol):
    def schedule(self, job_type: str, payload: Mapping[str, Json], run_at: datetime) -> UUID: ...

    def cancel(self, job_id: UUID | str) -> bool: ...

    def get_pending_jobs(self, limit: int) -> list[Job]: ...

    def mark_completed(self, job_id: UUID | str) -> None: ...

    def mark_failed(self, job_id: UUID | str, reason: str) -> None: ...


class JobScheduler:
    """The port on a queue, whatever store the queue is on."""

    def __init__(self, queue: Queue, *, worker_id: str = "scheduler", policy: ConcurrencyPolicy | None = None) -> None:
        """`policy`: the one that the deployment names, where it names one."""
        self._queue = queue
        self._policy = policy
        self._worker_id = worker_id
        self._attempts: dict[JobId, Attempt] = {}

    def schedule(self, job_type: str, payload: Mapping[str, Json], run_at: datetime) -> UUID:
        """Put a job into the queue; refused while the system is halted."""
        return UUID(self._queue.enqueue(job_type, dict(payload), run_at=run_at).job_id)

    def cancel(self, job_id: UUID | str) -> bool:
        """Cancel a job that has not started; False if it has, or has ended."""
        try:
            return self._queue.cancel(str(job_id), reason="cancelled through the scheduler port").job_ended
        except WrongStateError:
            return False

    def get_pending_jobs(self, limit: int) -> list[Job]:
        """Claim and start up to `limit` due jobs, in the order in which they are due. None while halted."""
        if limit < 1:
            raise InvalidOptionError(limit, "the limit is at least 1", "Pass how many jobs you can work on now.")
        taken = _Taken(limit)
        poller = Poller(
            self._queue.services,
            taken,
            worker_id=self._worker_id,
            settings=PollSettings(poll_limit=min(limit, 25)),
            policy=self._policy,
        )
        poller.poll(should_stop=taken.reason_to_stop)
        executor = Executor(self._queue.services, worker_id=self._worker_id)
        jobs: list[Job] = []
        for handover in taken.handovers:
            try:
                attempt = executor.begin(handover)
                if isinstance(attempt, Attempt) and self._is_readable(attempt):
                    self._attempts[attempt.job.job_id] = attempt
                    jobs.append(attempt.job)
            except StoreUnavailableError:
                if not jobs:
                    raise
                break  # those that were started are the caller's; the others come back when their lease ends
        return jobs

    @staticmethod
    def _is_readable(attempt: Attempt) -> bool:
        try:
            attempt.read_payload()
        except PAYLOAD_IS_LOST as lost:
            fail(attempt, failure_of(lost))
            return False
        return True

    def mark_completed(self, job_id: UUID | str) -> None:
        self._take(job_id).complete(None)

    def mark_failed(self, job_id: UUID | str, reason: str) -> None:
        """Record the failure; the job's type decides whether it is tried again or dead-lettered."""
        fail(self._take(job_id), Failure(error=reason, code="failed"))

    def _take(self, job_id: UUID | str) -> Attempt:
        attempt = self._attempts.pop(parse_job_id(str(job_id)), None)
        if attempt is None:
            job = operate.find(str(job_id), self._queue.services)
            raise LeaseLostError(job.job_id, "marking it: it was not returned by get_pending_jobs here", job.status)
        return attempt


class _Taken:
    """A dispatcher that only collects: the caller of the port is the handler."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.handovers: list[Handover] = []

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self.handovers.append(handover)

    def reason_to_stop(self) -> str | None:
        return "enough" if len(self.handovers) >= self._limit else None
