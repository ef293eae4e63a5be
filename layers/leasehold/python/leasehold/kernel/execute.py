"""Execute: the story of a run, from a hand-over to the end that its handler asked for.

A hand-over is turned back while its type may not run. Its start swaps the poller's token for a nonce of this
invocation, so that of two copies one runs. The handler works. What it returned or raised decides how the run ends:
`Attempt` writes that, and here it is logged.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.kernel.attempt import Attempt, expire_if_too_late, release
from leasehold.kernel.end import log_dead
from leasehold.kernel.errors import (
    InvalidInputError,
    LeaseLostError,
)
from leasehold.kernel.job_type import CLOCK_TOLERANCE, parse_job_type
from leasehold.kernel.jobs import TransitionRefused, Write
from leasehold.kernel.keys import Due, parse_job_id, to_text
from leasehold.kernel.payload import encode_result
from leasehold.kernel.services import make_nonce
from leasehold.kernel.signals import Cancel, GiveUp, Skip, Snooze, failure_of
from leasehold.kernel.table import check_format, format_mark
from leasehold.kernel.transitions import START
from leasehold.lean import dataclass
from leasehold.telemetry import COMPLETED, LATENESS, LEASES_LOST, PROCESSING, Event
from leasehold.telemetry.redaction import without_payload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.registry import Switches
    from leasehold.kernel.services import Services


_RELEASED_FOR = timedelta(seconds=60)


class Execution(StrEnum):
    """How one hand-over went."""

    COMPLETED = "completed"
    SKIPPED = "skipped"
    SNOOZED = "snoozed"
    FAILED = "failed"
    DEAD_LETTERED = "dead_letter"
    CANCELLED = "cancelled"
    # The start was refused: a second copy of the hand-over, or one that came too late.
    NOT_STARTED = "not_started"
    RELEASED = "released"
    EXPIRED = "expired"
    LEASE_LOST = "lease_lost"


class Executor:
    """Runs hand-overs in one worker.

    `work` is the handler: it gets the attempt and returns a JSON value. `keep_alive` surrounds it with a heartbeat for
    types that ask for one. `remaining` is how long the platform lets this invocation live.
    """

    def __init__(
        self,
        services: Services,
        *,
        worker_id: str,
        keep_alive: Callable[[Attempt], AbstractContextManager[object]] | None = None,
    ) -> None:
        self._services = services
        self._worker_id = worker_id
        self._keep_alive = keep_alive

    def execute(
        self, handover: Handover, work: Callable[[Attempt], object], *, remaining: timedelta | None = None
    ) -> Execution:
        attempt = self.begin(handover, remaining=remaining)
        if isinstance(attempt, Execution):
            return attempt
        try:
            return self._run(attempt, work)
        except LeaseLostError as lost:
            self.log_lost(attempt.job.job_id, attempt.job.job_type, lost.transition)
            return Execution.LEASE_LOST

    # --- from the hand-over to the start

    def begin(self, handover: Handover, *, remaining: timedelta | None = None) -> Attempt | Execution:
        """Start a hand-over, or say why it does not start."""
        job_type = self._services.deployment.settings_of(handover.job_type)
        if self.turn_back(handover, job_type):
            return Execution.RELEASED
        time_left = remaining or job_type.timeout
        try:
            job = self._services.store.jobs.apply_and_read(self.start_of(handover, job_type, time_left))
        except TransitionRefused as refused:
            return self.not_started(handover, refused.current)
        return self.started(job, job_type, time_left)

    def turn_back(self, handover: Handover, job_type: JobType) -> bool:
        """Release a job whose type may not run now; True if so."""
        now, switches = self._services.clock.now(), self._services.deployment.switches()
        is_stopped = switches.stop(handover.job_type)
        if is_stopped:
            # It may be over: who gives back at once is free at once, and would be handed one job after the other.
            switches = self._services.deployment.switches(fresh=True)
            is_stopped = switches.stop(handover.job_type)
        if is_stopped:
            release(handover, "halted" if switches.halt else "paused", self._services, until=now + _RELEASED_FOR)
        elif self._is_reserved(handover.job_type, switches, now):
            # Due at once: the next poll holds it, and the end of the reservation wakes it.
            release(handover, "reserved", self._services, until=now)
        else:
            for hooks in self._services.features.of_starts(job_type):
                reason = hooks.stops_start(handover, self._services)
                if reason is not None:
                    release(handover, reason, self._services, until=now)
                    return True
            return False
        self._never_started(handover)
        return True

    def start_of(self, handover: Handover, job_type: JobType, time_left: timedelta) -> Write:
        """Swap the token for a nonce of this invocation: of two copies of a hand-over, one finds the token."""
        now = self._services.clock.now()
        values: dict[str, object] = {
            "locked_by": make_nonce(self._services.random_source, self._worker_id),
            "started_at": now,
        }
        # A lease must outlast what it protects; a hand-over that waited long in a queue gets a longer one.
        needed_until = now + (job_type.lease_length / 2 if job_type.heartbeat else time_left + CLOCK_TOLERANCE)
        if handover.lease.at < needed_until:
            until = now + job_type.lease_length if job_type.heartbeat else needed_until
            values |= {"lock_expires_at": until, "due_key": handover.lease.moved_to(until)}
        seen = {"locked_by": handover.token, "now": now}
        return Write(job_id=handover.job_id, transition=START, seen=seen, values=values)

    def started(self, job: Job, job_type: JobType, time_left: timedelta) -> Attempt:
        self._log_start(job)
        return Attempt(job, job_type, self._services, deadline=self._services.clock.now() + time_left)

    def not_started(self, handover: Handover, current: Job | None) -> Execution:
        """The start was refused: the job is not what was handed over, or it is too late for it."""
        if expire_if_too_late(current, self._services):
            self._never_started(handover)
            return Execution.EXPIRED
        self.log_lost(handover.job_id, handover.job_type, START.name)
        return Execution.NOT_STARTED

    def _never_started(self, handover: Handover) -> None:
        job_type = self._services.deployment.settings_of(handover.job_type)
        for hooks in self._services.features.of_starts(job_type):
            hooks.never_started(handover, self._services)

    def _is_reserved(self, job_type: str, switches: Switches, now: datetime) -> bool:
        if switches.reserved_until(job_type, now) is None:
            return False
        # It may be over: a job that was given back for nothing would come again, and again, as long as this is cached.
        return self._services.deployment.switches(fresh=True).reserved_until(job_type, now) is not None

    # --- from the handler's work to the end

    def _run(self, attempt: Attempt, work: Callable[[Attempt], object]) -> Execution:
        try:
            if self._keep_alive is not None and attempt.job_type.heartbeat:
                with self._keep_alive(attempt):
                    result = work(attempt)
            else:
                result = work(attempt)
            result_text = None if result is None or attempt.has_ended else encode_result(result)
        except (Exception, SystemExit) as error:
            return self.raised(attempt, error)
        if not attempt.has_ended:
            attempt.complete(result_text)
        return self.completed(attempt)

    def keep_alive_all(
        self, attempts: Sequence[Attempt], work: Callable[[Sequence[Attempt]], Sequence[object]]
    ) -> list[object]:
        """Run attempts together, each with its own heartbeat; what one of them lost is its own outcome."""
        kept = [
            (at, self._keep_alive(attempt))
            for at, attempt in enumerate(attempts)
            if self._keep_alive is not None and attempt.job_type.heartbeat
        ]
        for _, alive in kept:
            alive.__enter__()
        outcomes: list[object] = []
        try:
            outcomes = list(work(attempts))
        except (Exception, SystemExit) as error:
            outcomes = [error] * len(attempts)  # all have started: each is owed an end
        finally:
            for at, alive in kept:
                try:
                    alive.__exit__(None, None, None)
                except LeaseLostError as lost:
                    outcomes[at : at + 1] = [lost] if outcomes else []
        return outcomes

    def completed(self, attempt: Attempt) -> Execution:
        self._log_end(attempt, Event.JOB_COMPLETED, "success")
        return Execution.COMPLETED

    def raised(self, attempt: Attempt, error: BaseException) -> Execution:
        """End an attempt as what its handler raised says; LeaseLostError if it is not this worker's any more."""
        if attempt.has_ended:
            # It completed by transact_complete and then raised: the end stands, the error is only logged.
            said = without_payload(str(error), attempt.job)
            self._log_end(attempt, Event.JOB_COMPLETED, "success", error=said)
            return Execution.COMPLETED
        match error:
            case LeaseLostError():
                raise error
            case Snooze(delay=delay):
                if not attempt.snooze(delay):
                    return self._cancelled(attempt)
                self._log_end(attempt, Event.JOB_SNOOZED, seconds=delay.total_seconds())
                return Execution.SNOOZED
            case Skip(reason=reason):
                attempt.complete(None, skipped=reason)
                said = without_payload(reason, attempt.job)
                self._log_end(attempt, Event.JOB_COMPLETED, "skipped", reason=said)
                return Execution.SKIPPED
            case Cancel(reason=reason):
                attempt.abort(reason)
                return self._cancelled(attempt, reason=reason)
            case GiveUp(error=given_up):
                attempt.abort(str(given_up), failure_of(given_up))
                return self._cancelled(attempt, reason=str(given_up))
            case _:
                return self._failed(attempt, error)

    def _failed(self, attempt: Attempt, error: BaseException) -> Execution:
        failure = failure_of(error)
        how = attempt.fail(failure)
        if how == "cancelled":
            return self._cancelled(attempt)
        self._log_end(
            attempt,
            Event.JOB_FAILED,
            # A job that ends here is counted once, as the dead letter that it is.
            "failed" if how == "failed" else None,
            error_code=failure.code,
            error=without_payload(failure.error, attempt.job)[-1000:],
            will_retry=how == "failed",
        )
        if how == "failed":
            from leasehold.kernel.failure_report import report_failure  # only a run that failed needs it

            report_failure(attempt.job, failure, self._services)
            return Execution.FAILED
        log_dead(attempt.job, failure, self._services)
        return Execution.DEAD_LETTERED

    def _cancelled(self, attempt: Attempt, reason: str | None = None) -> Execution:
        said = reason and without_payload(reason, attempt.job)
        self._log_end(attempt, Event.JOB_CANCELLED, "cancelled", reason=said or attempt.job.cancel_reason)
        return Execution.CANCELLED

    def _log_start(self, job: Job) -> None:
        assert job.started_at is not None
        assert job.due is not None
        self._services.telemetry.event(
            Event.JOB_STARTED,
            job_id=job.job_id,
            job_type=job.job_type,
            attempt=job.attempts,
            worker_id=job.locked_by,
            trace=job.trace,
        )
        # A member of a group waits for its turn: that is no lateness.
        if job.attempts == 1 and job.last_attempt_at is None and job.group_id is None:
            late = (job.started_at - job.scheduled_for).total_seconds()
            self._services.telemetry.measure(LATENESS, max(late, 0.0), job_type=job.job_type)

    def _log_end(self, attempt: Attempt, event: Event, status: str | None = None, **fields: object) -> None:
        job = attempt.job
        assert job.started_at is not None
        seconds = (self._services.clock.now() - job.started_at).total_seconds()
        self._services.telemetry.event(
            event,
            job_id=job.job_id,
            job_type=job.job_type,
            attempt=job.attempts,
            worker_id=attempt.nonce,
            duration_ms=round(seconds * 1000),
            claimed_at=job.locked_at and to_text(job.locked_at),
            trace=job.trace,
            **fields,
        )
        self._services.telemetry.measure(PROCESSING, seconds, job_type=job.job_type)
        if status is not None:
            self._services.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status=status)

    def log_lost(self, job_id: str, job_type: str, transition: str) -> None:
        self._services.telemetry.event(
            Event.LEASE_LOST, job_id=job_id, job_type=job_type, worker_id=self._worker_id, transition=transition
        )
        self._services.telemetry.measure(LEASES_LOST, 1, job_type=job_type)


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """`lease` is the due entry that the claim wrote: its time is when the lease expires."""

    job_id: JobId
    job_type: str
    token: str
    lease: Due

    def to_event(self) -> dict[str, str | int]:
        named = {"job_id": self.job_id, "job_type": self.job_type, "token": self.token, "lease": self.lease.key}
        return {**named, **format_mark()}

    @classmethod
    def from_event(cls, event: Mapping[str, object]) -> Handover:
        check_format(event, "this hand-over")
        try:
            return cls(
                job_id=parse_job_id(event["job_id"]),
                job_type=parse_job_type(event["job_type"]),
                token=str(event["token"]),
                lease=Due.parse(str(event["lease"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                event, f"this is not a hand-over from the poller ({error})", "See events/handover.json for one."
            ) from None


def batch_event(handovers: Sequence[Handover]) -> dict[str, object]:
    """Several hand-overs of one type as one event. An invocation is told its type before it looks at its jobs."""
    return {"job_type": handovers[0].job_type, "batch": [each.to_event() for each in handovers]}


def handovers_in(event: Mapping[str, object]) -> list[Handover]:
    """The hand-overs of an event: one, or a batch of one type."""
    batch = event.get("batch")
    if batch is None:
        return [Handover.from_event(event)]
    if not isinstance(batch, list) or not batch:
        raise InvalidInputError(event, "a batch has hand-overs in it", "See events/handover.json for one of them.")
    return [Handover.from_event(each) for each in batch]
