"""Transitions that were refused: whether the answer to one that was made got lost, and what its writer is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.job import job_of
from leasehold.kernel.records import encode

if TYPE_CHECKING:
    from leasehold.kernel.job import Job
    from leasehold.kernel.jobs import Write
    from leasehold.kernel.table import Record


class TransitionRefused(Exception):  # noqa: N818  an answer, not an error: the engine decides what it means
    """The job is not what the writer saw; `current` is what it is. Nothing was written.

    was_repeated: the client had sent it before, and may not have heard that it was made.
    """

    def __init__(self, write: Write, current: Job | None, *, was_repeated: bool = False) -> None:
        super().__init__(f"{write.transition.name} of job {write.job_id} was refused")
        self.write = write
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
