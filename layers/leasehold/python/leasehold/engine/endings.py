"""How a job ends or goes back: the values that each of those transitions writes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from leasehold.domain.dead_letter import DeadLetter
from leasehold.domain.due import Due, position_at
from leasehold.domain.instants import to_text
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import JobStatus
from leasehold.domain.retry import hand_over_backoff, next_retry_at
from leasehold.domain.run import MAX_ERROR_BYTES, Outcome, Run, appended, next_number, run_error
from leasehold.domain.text import shortened
from leasehold.engine.draft import needs_wake
from leasehold.store.jobs import ended_lane

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.control import Registry
    from leasehold.domain.job import Job
    from leasehold.domain.job_type import JobType
    from leasehold.domain.lifecycle import Transition
    from leasehold.engine.parts import Parts
    from leasehold.engine.ports import Chance

# A job that never reached a handler is given up only after many hand-overs and a day.
MANY_DISPATCHES = 20
A_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a run failed. `error` may be long; each place that keeps it shortens it to its own bound."""

    error: str
    code: str
    is_retryable: bool = True


def end_values(
    job: Job, transition: Transition, now: datetime, job_type: JobType, registry: Registry
) -> dict[str, object]:
    """What every end state writes besides its own reason."""
    status = transition.target
    assert status is not None
    values: dict[str, object] = {"completed_at": now}
    if registry.ended_index:
        values["ended_lane"] = ended_lane(status, job.job_type)
        values["ended_key"] = f"{to_text(now)}#{job.job_id}"
    if job.owes_after(status):
        # It must not expire with what it owes undone, e.g. in a long halt: `settle` lets it go.
        return {**values, **due_values(job, now, now), "wake": True}
    return {**values, **expiry_values(job, status, now, job_type)}


def expiry_values(job: Job, status: JobStatus, ended_at: datetime, job_type: JobType) -> dict[str, object]:
    """How long a job is kept that ended like this and owes nothing (any more)."""
    keep_for = _retention(status, job_type)
    if keep_for is None:
        return {}
    # A dedup key is held by its job until the window is over, so the job must not go before that.
    return {"expires_at": int(max(ended_at + keep_for, job.dedup_until or ended_at).timestamp())}


def settled_values(job: Job, parts: Parts) -> dict[str, object]:
    """What an ended job gets when all that it owed is done."""
    assert job.completed_at is not None
    return expiry_values(job, job.status, job.completed_at, parts.deployment.settings_of(job.job_type))


def due_values(job: Job, at: datetime, now: datetime) -> dict[str, object]:
    """Where the job waits next. It always goes back to its own lane; a poll may hold it again."""
    position = job.due.position if job.due else position_at(now)
    return {"due_lane": job.run_lane, "due_key": Due(at, position, job.job_id)}


def waiting_values(job: Job, at: datetime, now: datetime) -> dict[str, object]:
    values = due_values(job, at, now)
    return {**values, "wake": True} if needs_wake(at, now) else values


def run_of(
    job: Job,
    now: datetime,
    outcome: Outcome,
    *,
    failure: Failure | None = None,
    reason: str | None = None,
    artifacts: tuple[str, ...] = (),
) -> tuple[Run, ...]:
    """The job's history with the run that ends now."""
    assert job.locked_by is not None
    assert job.started_at is not None
    run = Run(
        number=next_number(job.runs),
        worker=job.locked_by,
        started_at=job.started_at,
        ended_at=now,
        outcome=outcome,
        error=run_error(failure.error) if failure else None,
        error_code=failure.code if failure else None,
        reason=run_error(reason),
        artifacts=artifacts,
    )
    return appended(job.runs, run)


def error_values(failure: Failure) -> dict[str, object]:
    return {"last_error": shortened(failure.error, MAX_ERROR_BYTES), "last_error_code": failure.code}


def is_last_attempt(job: Job, failure: Failure) -> bool:
    return not failure.is_retryable or job.attempts >= job.max_attempts


def retry_values(
    job: Job,
    failure: Failure,
    now: datetime,
    job_type: JobType,
    chance: Chance,
    *,
    artifacts: tuple[str, ...] = (),
) -> dict[str, object]:
    at = next_retry_at(job.retry or job_type.retry, now, job.attempts, chance.share())
    return {
        **waiting_values(job, at, now),
        **error_values(failure),
        "runs": run_of(job, now, Outcome.FAILED, failure=failure, artifacts=artifacts),
        "last_attempt_at": job.started_at,
    }


def handed_back_values(job: Job, now: datetime, chance: Chance) -> dict[str, object]:
    values = waiting_values(job, now + hand_over_backoff(job.dispatches, chance.share()), now)
    return {**values, "undelivered_since": job.undelivered_since or now}


def is_given_up(job: Job, now: datetime) -> bool:
    """Whether a job that reaches no handler is a dead letter by now."""
    since = job.undelivered_since
    return since is not None and job.dispatches >= MANY_DISPATCHES and now - since >= A_DAY


def dead_letter_of(job: Job, failure: Failure, now: datetime, runs: tuple[Run, ...]) -> DeadLetter:
    return DeadLetter(
        id=job.job_id,
        original_job_id=job.job_id,
        job_type=job.job_type,
        payload_text=job.payload_text,
        failure_reason=shortened(failure.error, MAX_ERROR_BYTES),
        error_code=failure.code,
        failed_at=now,
        attempts=job.attempts,
        max_attempts=job.max_attempts,
        runs=runs,
        trace=job.trace,
    )


def _retention(status: JobStatus, job_type: JobType) -> timedelta | None:
    match status:
        case JobStatus.COMPLETED:
            return job_type.retention.completed
        case JobStatus.CANCELLED:
            return job_type.retention.cancelled
        case JobStatus.DEAD_LETTER:
            return None  # until somebody resolves it
        case JobStatus.PENDING | JobStatus.IN_PROGRESS | JobStatus.FAILED:
            raise ValueError(f"{status} is no end state")
        case _:
            assert_never(status)
