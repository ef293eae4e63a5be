"""Release: put back a claimed job whose hand-over reached no handler. No attempt is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.lifecycle import DEAD_LETTER, RELEASE
from leasehold.engine.telemetry import Event
from leasehold.kernel.end import Ending, Failure, handed_back_values, is_given_up, log_dead, waiting_values
from leasehold.store.jobs import TransitionRefused

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
    try:
        if until is None and is_given_up(job, now):
            ending = _give_up(job, reason, parts)
        else:
            values = handed_back_values(job, parts) if until is None else waiting_values(job, until, now)
            ending = Ending(job, RELEASE, parts, values=values)
            ending.commit()
            parts.telemetry.event(
                Event.JOB_RELEASED, job_id=job.job_id, job_type=job.job_type, dispatches=job.dispatches, reason=reason
            )
    except TransitionRefused:
        return False
    ending.after()
    return True


def _give_up(job: Job, reason: str, parts: Parts) -> Ending:
    text = f"no handler was reached in {job.dispatches} hand-overs: {reason}"
    failure = Failure(error=text, code="undeliverable")
    ending = Ending(job, DEAD_LETTER, parts, failure=failure)
    ending.commit()
    log_dead(job, failure, parts)
    return ending
