"""Every job that a table holds, read without any of what lists jobs for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.keys import EPOCH, LATEST, key_of
from leasehold.kernel.partitions import of_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record

_PAGE = 1000


def stored_jobs(services: Services) -> list[Job]:
    """Users' jobs of all types, by their date."""
    partitions = of_jobs(services.deployment.registry())
    return sorted((job for each in partitions for job in _in(each, services)), key=lambda job: key_of(job.job_id).sk)


def _in(partition: str, services: Services) -> Iterator[Job]:
    cursor: Record | None = None
    while True:
        page = services.store.listings.by_date(partition, EPOCH, LATEST, limit=_PAGE, after=cursor)
        yield from page.jobs
        cursor = page.cursor
        if cursor is None:
            return
