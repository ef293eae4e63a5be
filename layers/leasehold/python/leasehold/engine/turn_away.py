"""Turn away: end a new job that finds a limit of its type full, as its type says."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from leasehold.domain.lifecycle import SKIP, TURN_AWAY, Transition, Write
from leasehold.domain.limits import OnFull
from leasehold.domain.run import Outcome, Run, appended, next_number
from leasehold.engine.end_run import RunEnd
from leasehold.engine.endings import end_values
from leasehold.engine.telemetry import COMPLETED, Event
from leasehold.engine.tidy import retire_dedup_record
from leasehold.store.jobs import TransitionRefused
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    now = parts.clock.now()
    run = Run(
        number=next_number(job.runs),
        worker=worker_id,
        started_at=now,
        ended_at=now,
        outcome=Outcome.SKIPPED,
        reason=why,
    )
    return _end(job, SKIP, {"runs": appended(job.runs, run)}, why, parts)


def cancel_new(job: Job, why: str, parts: Parts) -> bool:
    return _end(job, TURN_AWAY, {"cancel_reason": why}, why, parts)


def _end(job: Job, transition: Transition, special: Mapping[str, object], why: str, parts: Parts) -> bool:
    now = parts.clock.now()
    job_type = parts.deployment.settings_of(job.job_type)
    values = {**end_values(job, transition, now, job_type, parts.deployment.registry()), **special}
    write = Write(job_id=job.job_id, transition=transition, seen={"due_key": job.due}, values=values)
    # Each poller's own: with a shared token, two at the same millisecond would both be told that they did it.
    token = request_token(job.job_id, transition.name, f"{parts.chance.bits(64):x}")
    try:
        RunEnd(job, write, parts, token=token).commit()
    except TransitionRefused:
        return False
    event, status = (Event.JOB_COMPLETED, "skipped") if transition is SKIP else (Event.JOB_CANCELLED, "cancelled")
    parts.telemetry.event(event, job_id=job.job_id, job_type=job.job_type, status=status, reason=why)
    parts.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status=status)
    retire_dedup_record(job, values.get("expires_at"), parts)
    return True
