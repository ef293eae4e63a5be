"""Retry by hand: run a job again, whatever state it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from leasehold.domain.errors import WrongStateError
from leasehold.domain.lifecycle import JobStatus
from leasehold.engine.deeds import deed_on_job
from leasehold.engine.enqueue import Enqueued, OnDuplicate, write
from leasehold.engine.look import with_payload_of
from leasehold.engine.operate import find, reschedule, successor
from leasehold.engine.redrive import redrive

if TYPE_CHECKING:
    from leasehold.domain.due import Priority
    from leasehold.domain.ids import JobId
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts


def retry(
    job_id: object,
    parts: Parts,
    *,
    reason: str,
    priority: Priority | int | None = None,
    new_job_id: JobId | None = None,
) -> Enqueued:
    """Run again: a waiting job now, an ended one as a new job that says what it is a retry of."""
    parts.deployment.refuse_if_halted()
    job = find(job_id, parts)
    match job.status:
        case JobStatus.PENDING | JobStatus.FAILED:
            reschedule(job.job_id, parts, priority=priority, reason=reason)
            return Enqueued(job_id=job.job_id, created=False)
        case JobStatus.IN_PROGRESS:
            raise WrongStateError(job.job_id, "retry", job.status, "Wait for its end, or cancel it.")
        case JobStatus.COMPLETED | JobStatus.CANCELLED:
            return _again(job, parts, reason=reason, priority=priority, new_job_id=new_job_id)
        case JobStatus.DEAD_LETTER:
            return _revived(job, parts, reason=reason, priority=priority, new_job_id=new_job_id)
        case _:
            assert_never(job.status)


def _revived(
    job: Job, parts: Parts, *, reason: str, priority: Priority | int | None, new_job_id: JobId | None
) -> Enqueued:
    """A retry of a dead job resolves its letter: left open, it would be redriven once more."""
    letter = parts.store.letters.get(job.job_id)
    if letter is not None and letter.redriven_as is not None and letter.redriven_as == new_job_id:
        return Enqueued(job_id=new_job_id, created=True)
    if letter is None or not letter.is_open:
        job = job if letter is None else with_payload_of(letter, job)
        return _again(job, parts, reason=reason, priority=priority, new_job_id=new_job_id)
    redriven = redrive(job.job_id, parts, reason=reason, priority=priority, new_job_id=new_job_id)
    assert redriven.job_id is not None
    # Somebody may have been faster since the letter was read: then it is their job, and nothing was done here.
    return Enqueued(job_id=redriven.job_id, created=redriven.created)


def _again(
    job: Job, parts: Parts, *, reason: str, priority: Priority | int | None, new_job_id: JobId | None
) -> Enqueued:
    again = successor(job, parts, created_by=parts.identity.actor(), priority=priority, job_id=new_job_id)
    deed = deed_on_job(job.job_id, "retry", parts, reason=reason, new_job_id=again.job.job_id)
    return write(again, parts, on_duplicate=OnDuplicate.RAISE, successor_of=job.job_id, deed=deed)
