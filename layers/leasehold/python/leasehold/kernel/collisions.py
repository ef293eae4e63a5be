"""A new job whose id is taken: by an earlier try of its own call, or by another job."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.kernel import keys
from leasehold.kernel.errors import StoreError, StoreUnavailableError
from leasehold.kernel.job import job_record
from leasehold.kernel.keys import RANDOM_BITS, make_job_id, partition_of

if TYPE_CHECKING:
    from leasehold.kernel.enqueue import Draft
    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import ConditionFailed, Record


# What no transition changes.
_ORIGIN = ("job_type", "created_by", "retry_of", "schedule")
# Not its payload: an operator may have edited it before its own enqueue heard that it is there.
_AS_MADE = (*_ORIGIN, "created_at")


def is_own(stored: Job, failed: ConditionFailed, drafted: Draft, services: Services) -> bool:
    """Whether a try of this call made it, whose answer was lost; or, under an id that is derived, an earlier call."""
    if not failed.was_repeated and not drafted.has_given_id:
        return False
    try:
        current = failed.current or services.store.table.get(keys.job(stored.job_id))
    except StoreUnavailableError:
        raise
    except StoreError:
        # Who may only insert cannot look. That somebody else has drawn the same 50 bits meanwhile is not to be feared.
        return not drafted.has_given_id
    return is_of_same_origin(stored, current) if drafted.has_given_id else is_as_made(stored, current)


def renamed(job: Job, services: Services) -> Job:
    job_id = make_job_id(job.scheduled_for, partition_of(job.job_id), services.random_source.bits(RANDOM_BITS))
    assert job.due is not None
    return replace(job, job_id=job_id, due=job.due._replace(item_id=job_id))


def is_as_made(job: Job, current: Record | None) -> bool:
    """Whether what is stored under this job's key was written as this job, whatever became of it since."""
    wanted = job_record(job)
    return current is not None and all(current.get(name) == wanted.get(name) for name in _AS_MADE)


def is_of_same_origin(job: Job, current: Record | None) -> bool:
    """Whether it was made for the same reason, at whatever time."""
    wanted = job_record(job)
    return current is not None and all(current.get(name) == wanted.get(name) for name in _ORIGIN)
