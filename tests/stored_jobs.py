"""Every job that a table holds, read without any of what lists jobs for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.due import EPOCH, LATEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Parts
    from leasehold.kernel.table import Record

_PAGE = 1000


def stored_jobs(parts: Parts) -> list[Job]:
    """Users' jobs of all types, by their date."""
    partitions = parts.deployment.registry().partitions()
    return sorted((job for each in partitions for job in _in(each, parts)), key=lambda job: job.key.sk)


def _in(partition: str, parts: Parts) -> Iterator[Job]:
    cursor: Record | None = None
    while True:
        page = parts.store.jobs.by_date(partition, EPOCH, LATEST, limit=_PAGE, after=cursor)
        yield from page.jobs
        cursor = page.cursor
        if cursor is None:
            return
