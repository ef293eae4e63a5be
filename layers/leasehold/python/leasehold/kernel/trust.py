"""Trust: does what an item says of itself agree with its key? Who writes an item can call it anything, not move it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.jobs import DueJob
from leasehold.kernel.other_entries import DueUnreadable
from leasehold.telemetry import DISAGREEMENTS, Event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leasehold.kernel.job import Job
    from leasehold.kernel.jobs import DueEntry
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services


def trusted_jobs(entries: Iterable[DueEntry], services: Services) -> list[DueJob]:
    return [entry for entry in entries if isinstance(entry, DueJob) and is_trusted_entry(entry, services)]


def is_trusted(job_id: JobId, job_type: str, services: Services) -> bool:
    """Whether a job with this id may be of this type; where not, that is reported."""
    if services.deployment.agrees(job_id, job_type):
        return True
    report(job_id, f"its key is not that of a {job_type} job", services)
    return False


def trusted_job(job: Job | None, services: Services) -> Job | None:
    return job if job is not None and is_trusted(job.job_id, job.job_type, services) else None


def report(entry: str, problem: str, services: Services) -> None:
    services.telemetry.event(Event.ENTRY_DISAGREES, entry=entry, problem=problem)
    services.telemetry.measure(DISAGREEMENTS, 1)


def is_trusted_entry(entry: DueEntry, services: Services) -> bool:
    """Whether an entry of a due lane agrees with its key. One that does not is reported, and left where it is."""
    if isinstance(entry, DueJob):
        return is_trusted(entry.job_id, entry.job_type, services)
    if isinstance(entry, DueUnreadable) and entry.is_misplaced:
        report(entry.due_key, entry.problem, services)
        return False
    return True
