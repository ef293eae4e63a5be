"""Gather: jobs of a batch type wait for others, before their claim and for a moment behind it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.kernel.jobs import DueJob
from leasehold.kernel.transitions import JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from leasehold.batches.model import Batch
    from leasehold.kernel.claim import Claim
    from leasehold.kernel.jobs import DueEntry
    from leasehold.kernel.poll import PollReport
    from leasehold.kernel.registry import Registry

# A claimed job waits no longer than this, however long its lane is.
_GATHERED_FOR = timedelta(milliseconds=500)


class Gathering:
    """What one poll has claimed of batch types and not handed over yet."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[datetime, list[Claim]]] = {}

    def add(self, claim: Claim, now: datetime) -> list[Claim] | None:
        """A whole batch if this makes one."""
        job_type, size = claim.handover.job_type, together(claim)
        if size == 1:
            return [claim]
        since, waiting = self._waiting.get(job_type, (now, []))
        # A poll that stood still for longer than a lease may claim its own job again: the older claim is void.
        waiting = [*(each for each in waiting if each.handover.job_id != claim.handover.job_id), claim]
        self._waiting[job_type] = since, waiting
        return self._waiting.pop(job_type)[1] if len(waiting) >= size else None

    def take(self, now: datetime, *, all_of_them: bool) -> Iterator[list[Claim]]:
        """Smaller batches: of whoever has waited for long, or of all."""
        for job_type, (since, _) in list(self._waiting.items()):
            if all_of_them or now - since >= _GATHERED_FOR:
                yield self._waiting.pop(job_type)[1]


def together(claim: Claim) -> int:
    """With how many it may share an invocation. One that failed runs alone: it may be what its worker died of."""
    batch = claim.job_type.batch
    return batch.size if batch is not None and claim.entry.status is JobStatus.PENDING else 1


def ready_for_batches[Entry: DueEntry](
    entries: Sequence[Entry], registry: Registry, report: PollReport, now: datetime
) -> list[Entry]:
    """These without the jobs that still wait for others of their batch: nothing is claimed of those yet."""
    waiting: dict[str, list[DueJob]] = {}
    for entry in entries:
        if isinstance(entry, DueJob) and entry.status is JobStatus.PENDING:
            job_type = registry.types.get(entry.job_type)
            if job_type is not None and job_type.batch is not None and job_type.batch.wait:
                waiting.setdefault(job_type.name, []).append(entry)
    left: set[str] = set()
    for name, jobs in waiting.items():
        batch = cast("Batch", registry.types[name].batch)
        until = min(job.due.at for job in jobs) + batch.wait
        if len(jobs) < batch.size and now < until:
            left |= {job.due_key for job in jobs}
            report.note_due(until)
    return [entry for entry in entries if entry.due_key not in left]
