"""Trust: an index shows what somebody wrote into an item, and who may write one item can put it into any lane.

Only an item's key says who can have written it. So whatever an index shows is compared with the key of its item, and
with the type that the key's code belongs to, before anybody acts on it or shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.engine.telemetry import DISAGREEMENTS, Event
from leasehold.store.jobs import DueJob, DueUnreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leasehold.domain.dead_letter import DeadLetter
    from leasehold.domain.ids import JobId
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts
    from leasehold.store.jobs import DueEntry


def trusted_entries(entries: Sequence[DueEntry], parts: Parts) -> list[DueEntry]:
    """The entries of a due lane that agree with their keys. The others are reported, and left where they are."""
    return [entry for entry in entries if _is_trusted(entry, parts)]


def trusted_jobs(entries: Iterable[DueEntry], parts: Parts) -> list[DueJob]:
    return [entry for entry in entries if isinstance(entry, DueJob) and _is_trusted(entry, parts)]


def is_trusted(job_id: JobId, job_type: str, parts: Parts) -> bool:
    """Whether a job with this id may be of this type; where not, that is reported."""
    if parts.deployment.agrees(job_id, job_type):
        return True
    report(job_id, f"its key is not that of a {job_type} job", parts)
    return False


def trusted_job(job: Job | None, parts: Parts) -> Job | None:
    return job if job is not None and is_trusted(job.job_id, job.job_type, parts) else None


def is_trusted_letter(letter: DeadLetter, parts: Parts) -> bool:
    """A dead letter is told by its key, which is its job's id."""
    if letter.original_job_id != letter.id:
        report(letter.id, f"this dead letter calls itself one of job {letter.original_job_id}", parts)
        return False
    return is_trusted(letter.id, letter.job_type, parts)


def report(entry: str, problem: str, parts: Parts) -> None:
    parts.telemetry.event(Event.ENTRY_DISAGREES, entry=entry, problem=problem)
    parts.telemetry.measure(DISAGREEMENTS, 1)


def _is_trusted(entry: DueEntry, parts: Parts) -> bool:
    if isinstance(entry, DueJob):
        return is_trusted(entry.job_id, entry.job_type, parts)
    if isinstance(entry, DueUnreadable) and entry.is_misplaced:
        report(entry.due_key, entry.problem, parts)
        return False
    return True
