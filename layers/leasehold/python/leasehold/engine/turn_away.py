"""Turn away: end a new job that finds a limit of its type full, as its type says."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from leasehold.domain.lifecycle import SKIP, TURN_AWAY
from leasehold.domain.limits import OnFull
from leasehold.domain.run import Outcome
from leasehold.engine.telemetry import COMPLETED, Event
from leasehold.kernel.end import Ending, log_cancelled
from leasehold.store.jobs import TransitionRefused

if TYPE_CHECKING:
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts


def may_be_turned_away(job: Job | None) -> bool:
    """A job that has run before is owed its next attempt, however full it is."""
    return job is not None and job.status.is_waiting and job.last_attempt_at is None


def turn_away(job: Job, why: str, parts: Parts, *, worker_id: str) -> bool:
    """End a waiting job that need not wait; False if somebody changed it since it was read."""
    on_full = parts.deployment.settings_of(job.job_type).on_full
    match on_full:
        case OnFull.SKIP:
            return skip(job, why, parts, worker_id=worker_id)
        case OnFull.CANCEL_NEW:
            return cancel_new(job, why, parts)
        case OnFull.WAIT:
            raise ValueError(f"{job.job_type} waits when it is full")
        case _:
            assert_never(on_full)


def skip(job: Job, why: str, parts: Parts, *, worker_id: str) -> bool:
    """Completed without having run; its history says why."""
    if not _end(Ending(job, SKIP, parts, outcome=Outcome.SKIPPED, reason=why, worker=worker_id)):
        return False
    parts.telemetry.event(Event.JOB_COMPLETED, job_id=job.job_id, job_type=job.job_type, status="skipped", reason=why)
    parts.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status="skipped")
    return True


def cancel_new(job: Job, why: str, parts: Parts) -> bool:
    if not _end(Ending(job, TURN_AWAY, parts, reason=why)):
        return False
    log_cancelled(job, why, parts)
    return True


def _end(ending: Ending) -> bool:
    try:
        ending.commit()
    except TransitionRefused:
        return False
    ending.after()
    return True
