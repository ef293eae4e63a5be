"""Expire: end a job that was not started in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.lifecycle import EXPIRE
from leasehold.store.jobs import TransitionRefused

if TYPE_CHECKING:
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts


def expire_if_too_late(job: Job | None, parts: Parts) -> bool:
    """End a job that was not started by its `start_by`; False if that is not what kept it from starting."""
    now = parts.clock.now()
    if job is None or job.start_by is None or job.start_by > now or job.has_ended:
        return False
    from leasehold.kernel.end import Ending, log_cancelled

    reason = f"not started by {job.start_by.isoformat(timespec='milliseconds')}"
    ending = Ending(job, EXPIRE, parts, reason=reason)
    try:
        ending.commit()
    except TransitionRefused:
        return False
    log_cancelled(job, reason, parts)
    ending.after()
    return True
