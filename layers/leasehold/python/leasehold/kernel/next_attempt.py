"""The next attempt: where a job waits for it, and when one that reaches no handler is given up."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.jobs import needs_wake
from leasehold.kernel.keys import Due, position_at
from leasehold.kernel.retry import hand_over_backoff, retry_delay

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.services import Services

# A job that never reached a handler is given up only after many hand-overs and a day.
MANY_DISPATCHES = 20
A_DAY = timedelta(days=1)


def due_values(job: Job, at: datetime, now: datetime, *, attempt: int = 1) -> dict[str, object]:
    """Where the job waits next. It always goes back to its own lane; a poll may hold it again."""
    position = job.due.position if job.due else position_at(now)
    return {"due_lane": job.run_lane, "due_key": Due(at, position, job.job_id, attempt)}


def waiting_values(job: Job, at: datetime, now: datetime, *, attempt: int | None = None) -> dict[str, object]:
    """Where the job waits for its next attempt, which is the one after those that were counted."""
    values = due_values(job, at, now, attempt=attempt or job.attempts + 1)
    return {**values, "wake": True} if needs_wake(at, now) else values


def retry_values(job: Job, job_type: JobType, services: Services) -> dict[str, object]:
    now = services.clock.now()
    at = now + retry_delay(job.retry or job_type.retry, job.attempts, services.random_source.share())
    return waiting_values(job, at, now)


def handed_back_values(job: Job, services: Services) -> dict[str, object]:
    """Where a job waits that was claimed and reached no handler."""
    now = services.clock.now()
    values = waiting_values(job, now + hand_over_backoff(job.dispatches, services.random_source.share()), now)
    return {**values, "undelivered_since": job.undelivered_since or now}


def is_given_up(job: Job, now: datetime) -> bool:
    """Whether a job that reaches no handler is a dead letter by now."""
    since = job.undelivered_since
    return since is not None and job.dispatches >= MANY_DISPATCHES and now - since >= A_DAY
