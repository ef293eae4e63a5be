"""Reap: decide about a job whose lease has expired. Its worker is lost, or never was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.admission import trusted_job
from leasehold.kernel.end import (
    Ending,
    Failure,
    handed_back_values,
    is_given_up,
    is_last_attempt,
    log_cancelled,
    log_dead,
    retry_values,
)
from leasehold.kernel.failure_report import report_failure
from leasehold.kernel.job import Outcome
from leasehold.kernel.jobs import TransitionRefused
from leasehold.kernel.services import make_stamp
from leasehold.kernel.telemetry import COMPLETED, Event
from leasehold.kernel.transitions import REAP_CANCELLED, REAP_DEAD, REAP_FAILED, REAP_UNSTARTED, JobStatus

if TYPE_CHECKING:
    from leasehold.kernel.job import Job
    from leasehold.kernel.jobs import DueJob
    from leasehold.kernel.services import Parts


def reap(entry: DueJob, parts: Parts) -> bool:
    """Take an orphan from its lost owner; False if it is none (any more)."""
    job = trusted_job(parts.store.jobs.get(entry.job_id), parts)
    now = parts.clock.now()
    if job is None or job.status is not JobStatus.IN_PROGRESS or job.due is None or job.due.key != entry.due_key:
        return False
    if job.lock_expires_at is None or job.lock_expires_at > now:
        return False
    try:
        if job.started_at is None:
            ending = _reap_unstarted(job, parts)
        elif job.cancel_requested is not None:
            ending = _reap_cancelled(job, parts)
        else:
            ending = _reap_started(job, parts)
    except TransitionRefused:
        return False
    ending.after()
    return True


def _reap_unstarted(job: Job, parts: Parts) -> Ending:
    if is_given_up(job, parts.clock.now()):
        text = f"no handler was reached before the lease expired, again and again ({_stamp(parts)})"
        failure = Failure(error=text, code="undeliverable")
        ending = Ending(job, REAP_DEAD, parts, failure=failure, is_orphan=True)
        ending.commit()
        log_dead(job, failure, parts)
        return ending
    ending = Ending(job, REAP_UNSTARTED, parts, values=handed_back_values(job, parts), is_orphan=True)
    ending.commit()
    parts.telemetry.event(
        Event.JOB_REAPED, job_id=job.job_id, job_type=job.job_type, started=False, dispatches=job.dispatches
    )
    return ending


def _reap_cancelled(job: Job, parts: Parts) -> Ending:
    lost = _lost(parts)
    ending = Ending(job, REAP_CANCELLED, parts, outcome=Outcome.FAILED, failure=lost, is_orphan=True)
    ending.commit()
    log_cancelled(job, job.cancel_reason, parts)
    return ending


def _reap_started(job: Job, parts: Parts) -> Ending:
    lost = _lost(parts)
    is_last = is_last_attempt(job, lost)
    ending = Ending(
        job,
        REAP_DEAD if is_last else REAP_FAILED,
        parts,
        outcome=Outcome.FAILED,
        failure=lost,
        values={} if is_last else retry_values(job, parts.deployment.settings_of(job.job_type), parts),
        failed=True,
        is_orphan=True,
    )
    ending.commit()
    _log_lost(job, lost, parts, will_retry=not is_last)
    if is_last:
        log_dead(job, lost, parts)
    else:
        parts.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status="failed")
        report_failure(job, lost, parts)
    return ending


def _lost(parts: Parts) -> Failure:
    text = f"worker lost: the lease expired before the handler reported an end ({_stamp(parts)})"
    return Failure(error=text, code="worker_lost")


def _stamp(parts: Parts) -> str:
    """This reaper's own: it tells its write from a rival's when the response is lost."""
    return f"reap {make_stamp(parts.chance)}"


def _log_lost(job: Job, failure: Failure, parts: Parts, *, will_retry: bool) -> None:
    parts.telemetry.event(
        Event.JOB_REAPED, job_id=job.job_id, job_type=job.job_type, started=True, worker=job.locked_by
    )
    parts.telemetry.event(
        Event.JOB_FAILED,
        job_id=job.job_id,
        job_type=job.job_type,
        attempt=job.attempts,
        worker_id=job.locked_by,
        error_code=failure.code,
        error=failure.error,
        will_retry=will_retry,
    )
