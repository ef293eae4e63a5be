"""Reap: decide about a job whose lease has expired. Its worker is lost, or never was."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold import features
from leasehold.kernel.end import Ending, Failure, is_last_attempt
from leasehold.kernel.job import Outcome
from leasehold.kernel.keys import make_stamp
from leasehold.kernel.next_attempt import handed_back_values, is_given_up, retry_values
from leasehold.kernel.refusals import TransitionRefused
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
    ending = _ending(job, services)
    try:
        ending.commit()
    except TransitionRefused:
        return False
    _log(ending, services)
    ending.concluded()
    return True


def _ending(job: Job, services: Services) -> Ending:
    orphan = partial(Ending, job, services=services, is_orphan=True)
    if job.started_at is None and not is_given_up(job, services.clock.now()):
        return orphan(REAP_UNSTARTED, values=handed_back_values(job, services))
    # This reaper's own: it tells its write from a rival's when the response is lost.
    stamp = f"(reap {make_stamp(services.random_source)})"
    if job.started_at is None:
        text = f"no handler was reached before the lease expired, again and again {stamp}"
        return orphan(REAP_DEAD, failure=Failure(error=text, code="undeliverable"))
    text = f"worker lost: the lease expired before the handler reported an end {stamp}"
    lost = Failure(error=text, code="worker_lost")
    if job.cancel_requested is not None:
        return orphan(REAP_CANCELLED, outcome=Outcome.FAILED, failure=lost)
    if is_last_attempt(job, lost):
        return orphan(REAP_DEAD, outcome=Outcome.FAILED, failure=lost, failed=True)
    values = retry_values(job, services.deployment.settings_of(job.job_type), services)
    return orphan(REAP_FAILED, outcome=Outcome.FAILED, failure=lost, failed=True, values=values)


def _log(ending: Ending, services: Services) -> None:
    job, step = ending.job, ending.write.transition
    log = partial(services.telemetry.event, job_id=job.job_id, job_type=job.job_type)
    if step is REAP_UNSTARTED:
        log(Event.JOB_REAPED, started=False, dispatches=job.dispatches)
    elif ending.failed and ending.failure is not None:
        log(Event.JOB_REAPED, started=True, worker=job.locked_by)
        log(
            Event.JOB_FAILED,
            attempt=job.attempts,
            worker_id=job.locked_by,
            error_code=ending.failure.code,
            error=ending.failure.error,
            will_retry=step is REAP_FAILED,
        )
        if step is REAP_FAILED:
            services.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status="failed")
            features.report_failure(job, ending.failure, services)
