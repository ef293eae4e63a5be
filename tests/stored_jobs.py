"""Every job that a table holds, read without any of what lists jobs for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.job import job_of
from leasehold.kernel.keys import key_of
from leasehold.kernel.partitions import of_jobs, records_in

if TYPE_CHECKING:
    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services


def stored_jobs(services: Services) -> list[Job]:
    """Users' jobs of all types, by their date."""
    partitions = of_jobs(services.deployment.registry())
    records = (record for each in partitions for record in records_in(services.store.table, each))
    return sorted(map(job_of, records), key=lambda job: key_of(job.job_id).sk)
