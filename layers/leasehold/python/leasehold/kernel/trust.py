"""Trust: does what an item says of itself agree with its key? Who writes an item can call it anything, not move it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.jobs import DueJob
from leasehold.kernel.keys import NOT_ISOLATED, SYSTEM_CODE, partition_of
from leasehold.kernel.other_entries import DueUnreadable
from leasehold.telemetry import DISAGREEMENTS, Event

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.jobs import DueEntry
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.registry import Registry
    from leasehold.kernel.services import Services


def trusted_jobs(entries: Iterable[DueEntry], services: Services) -> list[DueJob]:
    jobs = [entry for entry in entries if isinstance(entry, DueJob)]
    return [job for job in jobs if is_trusted(job.job_id, job.job_type, services)]


def is_trusted(job_id: JobId, job_type: str, services: Services) -> bool:
    """Whether a job with this id may be of this type; where not, that is reported."""
    if agrees(job_id, job_type, services):
        return True
    report(job_id, f"its key is not that of a {job_type} job", services)
    return False


def agrees(job_id: JobId, job_type: str, services: Services) -> bool:
    """Whether a job with this id may be of this type; one that was deployed since the registry was read, too."""
    registry = services.deployment.registry()
    if registry.agrees(job_id, job_type):
        return True
    if has_code(registry, partition_of(job_id).code):
        return False
    return services.deployment.registry(fresh=True).agrees(job_id, job_type)


def has_code(registry: Registry, code: int) -> bool:
    return code in {SYSTEM_CODE, NOT_ISOLATED} or any(each.code == code for each in registry.types.values())


def trusted_job(job: Job | None, services: Services) -> Job | None:
    return job if job is not None and is_trusted(job.job_id, job.job_type, services) else None


def report(entry: str, problem: str, services: Services) -> None:
    services.telemetry.event(Event.ENTRY_DISAGREES, entry=entry, problem=problem)
    services.telemetry.measure(DISAGREEMENTS, 1)


def is_trusted_entry(entry: DueEntry, now: datetime, reported: dict[str, datetime], services: Services) -> bool:
    """Whether an entry of a due lane agrees with its key. One that does not is left where it is.

    It is reported once: by its own name, since an honest entry may have the same due key.
    """
    match entry:
        case DueJob():
            name = f"{entry.job_id} as {entry.due_key}"
            if name not in reported and is_trusted(entry.job_id, entry.job_type, services):
                return True
        case DueUnreadable(is_misplaced=True):
            name = f"{entry.problem} as {entry.due_key}"
            if name not in reported:
                report(entry.due_key, entry.problem, services)
        case _:
            return True
    reported.setdefault(name, now)
    return False
