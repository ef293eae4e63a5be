"""Release: put back a claimed job whose hand-over reached no handler. No attempt is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.lifecycle import DEAD_LETTER, RELEASE, Write
from leasehold.domain.redaction import without_payload
from leasehold.engine.end_run import RunEnd
from leasehold.engine.endings import (
    Failure,
    dead_letter_of,
    end_values,
    error_values,
    handed_back_values,
    is_given_up,
    waiting_values,
)
from leasehold.engine.telemetry import COMPLETED, Event
from leasehold.engine.tidy import give_back_seats
from leasehold.store.jobs import TransitionRefused
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.handover import Handover
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts


def release(handover: Handover, reason: str, parts: Parts, *, until: datetime | None = None) -> bool:
    """Give the job back, due after a backoff or at `until`; False if somebody else decided about it meanwhile."""
    job = parts.store.jobs.get(handover.job_id)
    if job is None or job.locked_by != handover.token:
        return False
    now = parts.clock.now()
    seen = {"locked_by": handover.token}
    try:
        if until is None and is_given_up(job, now):
            failure = Failure(
                error=f"no handler was reached in {job.dispatches} hand-overs: {reason}", code="undeliverable"
            )
            job_type = parts.deployment.settings_of(job.job_type)
            values = {
                **end_values(job, DEAD_LETTER, now, job_type, parts.deployment.registry()),
                **error_values(failure),
            }
            write = Write(job_id=job.job_id, transition=DEAD_LETTER, seen=seen, values=values)
            letter = dead_letter_of(parts.store.payloads.shown(job), failure, now, job.runs)
            token = request_token(handover.token, DEAD_LETTER.name)
            RunEnd(job, write, parts, token=token, letter=letter).commit()
            tell_dead(parts, job, failure)
        else:
            values = handed_back_values(job, now, parts.chance) if until is None else waiting_values(job, until, now)
            parts.store.jobs.advance(Write(job_id=job.job_id, transition=RELEASE, seen=seen, values=values))
            parts.telemetry.event(
                Event.JOB_RELEASED, job_id=job.job_id, job_type=job.job_type, dispatches=job.dispatches, reason=reason
            )
    except TransitionRefused:
        return False
    give_back_seats(job, parts)
    return True


def tell_dead(parts: Parts, job: Job, failure: Failure) -> None:
    """The alert that an operator must see: one line, one count, whoever buried the job."""
    parts.telemetry.event(
        Event.JOB_DEAD_LETTERED,
        job_id=job.job_id,
        job_type=job.job_type,
        attempt=job.attempts,
        attempt_count=job.attempts,
        failure_reason=without_payload(failure.error, job)[-500:],
        error_code=failure.code,
        will_retry=False,
    )
    parts.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status="dead_letter")
