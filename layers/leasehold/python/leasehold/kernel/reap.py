"""Reap: decide about a job whose lease has expired. Its worker is lost, or never was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.dead_letter import log_dead
from leasehold.kernel.end import Ending, Failure, is_last_attempt, log_cancelled
from leasehold.kernel.job import Outcome
from leasehold.kernel.jobs import TransitionRefused
from leasehold.kernel.keys import make_stamp
from leasehold.kernel.next_attempt import handed_back_values, is_given_up, retry_values
from leasehold.kernel.transitions import REAP_CANCELLED, REAP_DEAD, REAP_FAILED, REAP_UNSTARTED, JobStatus
from leasehold.kernel.trust import trusted_job
from leasehold.telemetry import COMPLETED, Event

if TYPE_CHECKING:
    from leasehold.kernel.job import Job
    from leasehold.kernel.jobs import DueJob
    from leasehold.kernel.services import Services


def reap(entry: DueJob, services: Services) -> bool:
    """Take an orphan from its lost owner; False if it is none (any more)."""
    job = trusted_job(services.store.jobs.get(entry.job_id), services)
    now = services.clock.now()
    if job is None or job.status is not JobStatus.IN_PROGRESS or job.due is None or job.due.key != entry.due_key:
        return False
    if job.lock_expires_at is None or job.lock_expires_at > now:
        return False
    try:
        if job.started_at is None:
            ending = _reap_unstarted(job, services)
        elif job.cancel_requested is not None:
            ending = _reap_cancelled(job, services)
        else:
            ending = _reap_started(job, services)
    except TransitionRefused:
        return False
    ending.after()
    return True


def _reap_unstarted(job: Job, services: Services) -> Ending:
    if is_given_up(job, services.clock.now()):
        text = f"no handler was reached before the lease expired, again and again ({_stamp(services)})"
        failure = Failure(error=text, code="undeliverable")
        ending = Ending(job, REAP_DEAD, services, failure=failure, is_orphan=True)
        ending.commit()
        log_dead(job, failure, services)
        return ending
    ending = Ending(job, REAP_UNSTARTED, services, values=handed_back_values(job, services), is_orphan=True)
    ending.commit()
    services.telemetry.event(
        Event.JOB_REAPED, job_id=job.job_id, job_type=job.job_type, started=False, dispatches=job.dispatches
    )
    return ending


def _reap_cancelled(job: Job, services: Services) -> Ending:
    lost = _lost(services)
    ending = Ending(job, REAP_CANCELLED, services, outcome=Outcome.FAILED, failure=lost, is_orphan=True)
    ending.commit()
    log_cancelled(job, job.cancel_reason, services)
    return ending


def _reap_started(job: Job, services: Services) -> Ending:
    lost = _lost(services)
    is_last = is_last_attempt(job, lost)
    ending = Ending(
        job,
        REAP_DEAD if is_last else REAP_FAILED,
        services,
        outcome=Outcome.FAILED,
        failure=lost,
        values={} if is_last else retry_values(job, services.deployment.settings_of(job.job_type), services),
        failed=True,
        is_orphan=True,
    )
    ending.commit()
    _log_lost(job, lost, services, will_retry=not is_last)
    if is_last:
        log_dead(job, lost, services)
    else:
        services.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status="failed")
        from leasehold.features import report_failure

        report_failure(job, lost, services)
    return ending


def _lost(services: Services) -> Failure:
    text = f"worker lost: the lease expired before the handler reported an end ({_stamp(services)})"
    return Failure(error=text, code="worker_lost")


def _stamp(services: Services) -> str:
    """This reaper's own: it tells its write from a rival's when the response is lost."""
    return f"reap {make_stamp(services.random_source)}"


def _log_lost(job: Job, failure: Failure, services: Services, *, will_retry: bool) -> None:
    services.telemetry.event(
        Event.JOB_REAPED, job_id=job.job_id, job_type=job.job_type, started=True, worker=job.locked_by
    )
    services.telemetry.event(
        Event.JOB_FAILED,
        job_id=job.job_id,
        job_type=job.job_type,
        attempt=job.attempts,
        worker_id=job.locked_by,
        error_code=failure.code,
        error=failure.error,
        will_retry=will_retry,
    )
