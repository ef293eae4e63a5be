"""Reap: decide about a job whose lease has expired. Its worker is lost, or never was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.lifecycle import (
    REAP_CANCELLED,
    REAP_DEAD,
    REAP_FAILED,
    REAP_UNSTARTED,
    JobStatus,
    Transition,
    Write,
)
from leasehold.domain.run import Outcome
from leasehold.engine.end_run import RunEnd
from leasehold.engine.endings import (
    Failure,
    dead_letter_of,
    end_values,
    error_values,
    handed_back_values,
    is_given_up,
    is_last_attempt,
    retry_values,
    run_of,
)
from leasehold.engine.ports import make_stamp
from leasehold.engine.probe import probed_by
from leasehold.engine.release import tell_dead
from leasehold.engine.report_failure import report_failure
from leasehold.engine.telemetry import COMPLETED, Event
from leasehold.engine.tidy import give_back_seats, retire_dedup_record
from leasehold.engine.trip import after_run
from leasehold.engine.trust import trusted_job
from leasehold.store.jobs import TransitionRefused
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.domain.dead_letter import DeadLetter
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts
    from leasehold.store.jobs import DueJob


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
            _reap_unstarted(job, parts)
        elif job.cancel_requested is not None:
            _reap_cancelled(job, parts)
        elif is_last_attempt(job, lost := _lost(parts)):
            _bury(job, lost, parts, runs=True)
        else:
            values = retry_values(job, lost, now, parts.deployment.settings_of(job.job_type), parts.chance)
            _end_run(job, REAP_FAILED, values, parts)
            parts.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status="failed")
            _tell(job, lost, parts, will_retry=True)
            report_failure(job, lost, parts)
    except TransitionRefused:
        return False
    if job.started_at is not None and job.cancel_requested is None:
        after_run(job, parts, failed=True, probing=probed_by(job.job_id, job.job_type, parts))
    _give_back_seats_in_time(job, parts)
    return True


def _give_back_seats_in_time(job: Job, parts: Parts) -> None:
    """A handler that lost its lease early may still be running: the limit counts it until its full time is over."""
    job_type = parts.deployment.settings_of(job.job_type)
    if job.locked_at is not None and parts.clock.now() >= job.locked_at + job_type.longest_hold:
        give_back_seats(job, parts)


def _reap_unstarted(job: Job, parts: Parts) -> None:
    now = parts.clock.now()
    if is_given_up(job, now):
        _bury(job, _unreached(parts), parts, runs=False)
        return
    parts.store.jobs.advance(_write(job, REAP_UNSTARTED, handed_back_values(job, now, parts.chance), parts))
    parts.telemetry.event(
        Event.JOB_REAPED, job_id=job.job_id, job_type=job.job_type, started=False, dispatches=job.dispatches
    )


def _reap_cancelled(job: Job, parts: Parts) -> None:
    now, lost = parts.clock.now(), _lost(parts)
    job_type = parts.deployment.settings_of(job.job_type)
    values = {
        **end_values(job, REAP_CANCELLED, now, job_type, parts.deployment.registry()),
        **error_values(lost),
        "runs": run_of(job, now, Outcome.FAILED, failure=lost),
    }
    _end_run(job, REAP_CANCELLED, values, parts)
    parts.telemetry.event(Event.JOB_CANCELLED, job_id=job.job_id, job_type=job.job_type, reason=job.cancel_reason)
    parts.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status="cancelled")
    retire_dedup_record(job, values.get("expires_at"), parts)


def _bury(job: Job, failure: Failure, parts: Parts, *, runs: bool) -> None:
    now = parts.clock.now()
    job_type = parts.deployment.settings_of(job.job_type)
    history = run_of(job, now, Outcome.FAILED, failure=failure) if runs else job.runs
    values = {
        **end_values(job, REAP_DEAD, now, job_type, parts.deployment.registry()),
        **error_values(failure),
        **({"runs": history} if runs else {}),
    }
    letter = dead_letter_of(parts.store.payloads.shown(job), failure, now, history)
    _end_run(job, REAP_DEAD, values, parts, letter=letter)
    if runs:
        _tell(job, failure, parts, will_retry=False)
    tell_dead(parts, job, failure)


def _end_run(
    job: Job,
    transition: Transition,
    values: Mapping[str, object],
    parts: Parts,
    *,
    letter: DeadLetter | None = None,
) -> None:
    # Each reaper's own: with a shared token, two at the same millisecond would both be told that they did it.
    token = request_token(job.job_id, transition.name, f"{parts.chance.bits(64):x}")
    RunEnd(job, _write(job, transition, values, parts), parts, token=token, letter=letter).commit()


def _lost(parts: Parts) -> Failure:
    """The stamp is this reaper's own: it tells its write from a rival's when the response is lost."""
    text = f"worker lost: the lease expired before the handler reported an end (reap {make_stamp(parts.chance)})"
    return Failure(error=text, code="worker_lost")


def _unreached(parts: Parts) -> Failure:
    text = f"no handler was reached before the lease expired, again and again (reap {make_stamp(parts.chance)})"
    return Failure(error=text, code="undeliverable")


def _write(job: Job, transition: Transition, values: Mapping[str, object], parts: Parts) -> Write:
    seen = {"due_key": job.due, "locked_by": job.locked_by, "now": parts.clock.now()}
    return Write(job_id=job.job_id, transition=transition, seen=seen, values=values)


def _tell(job: Job, failure: Failure, parts: Parts, *, will_retry: bool) -> None:
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
