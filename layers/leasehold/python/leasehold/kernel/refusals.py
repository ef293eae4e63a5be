"""Writes that were refused: whether the answer to one that was made got lost, and what its writer is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel import keys
from leasehold.kernel.errors import StoreError, StoreUnavailableError
from leasehold.kernel.job import job_of, job_record
from leasehold.kernel.records import encode

if TYPE_CHECKING:
    from leasehold.kernel.job import Job
    from leasehold.kernel.jobs import Write
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import ConditionFailed, Record


class TransitionRefused(Exception):  # noqa: N818  an answer, not an error: the engine decides what it means
    """The job is not what the writer saw; `current` is what it is. Nothing was written.

    was_repeated: the client had sent it before, and may not have heard that it was made.
    """

    def __init__(self, write: Write, current: Job | None, *, was_repeated: bool) -> None:
        super().__init__(f"{write.transition.name} of job {write.job_id} was refused")
        self.current = current
        self.was_repeated = was_repeated


def own_or_refused(write: Write, current: Record | None, *, was_repeated: bool = False) -> Record:
    """The job as this write made it before, without having heard that; else TransitionRefused."""
    if current is not None and _is_own(write, current):
        return current
    raise TransitionRefused(write, job_of(current) if current else None, was_repeated=was_repeated) from None


def _is_own(write: Write, current: Record) -> bool:
    """Whether the stored job already is what this write makes of it: its response was lost, its effect was not."""
    step = write.transition
    if step.signature is None or step.signature not in write.values:
        return False
    keeps_owner = "locked_by" in write.seen and "locked_by" not in step.removes | write.values.keys()
    if keeps_owner and current.get("locked_by") != write.seen["locked_by"]:
        return False  # the next owner may have written the same value by chance
    status_is_ours = step.target is None or current.get("status") == step.target
    return status_is_ours and current.get(step.signature) == encode(write.values[step.signature])


def is_own_insert(job: Job, failed: ConditionFailed, services: Services, *, has_given_id: bool) -> bool:
    """Whether a try of this call made it, whose answer was lost; or, under an id that is derived, an earlier call."""
    if not failed.was_repeated and not has_given_id:
        return False
    try:
        current = failed.current or services.store.table.get(keys.job(job.job_id))
    except StoreUnavailableError:
        raise
    except StoreError:
        # Who may only insert cannot look. That somebody else has drawn the same 50 bits meanwhile is not to be feared.
        return not has_given_id
    return is_as_made(job, current, at_any_time=has_given_id)


def is_as_made(job: Job, current: Record | None, *, at_any_time: bool = False) -> bool:
    """Whether what is stored under this job's key was written as this job, whatever became of it since.

    Not by its payload: an operator may have edited it before its own enqueue heard that it is there.
    """
    names = ("job_type", "created_by", "retry_of", "schedule", *(() if at_any_time else ("created_at",)))
    made = job_record(job)
    return current is not None and all(current.get(name) == made.get(name) for name in names)
