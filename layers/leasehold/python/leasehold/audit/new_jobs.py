"""What a new job leaves on record that a person makes: its entry is written in the same transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.audit.records import audit_entry_of, contended, job_target, tries
from leasehold.kernel.enqueue import Enqueued
from leasehold.kernel.jobs import insertion
from leasehold.kernel.offload import offloaded

if TYPE_CHECKING:
    from leasehold.audit.records import Audit, AuditEntry
    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record


def entry_of_new_job(job: Job, services: Services) -> AuditEntry:
    """By whom the program that enqueues it says that it is made."""
    details: Record = {"job_type": job.job_type, "named_by": "program"}
    return audit_entry_of(job_target(job.job_id), "create", details, services, by=job.created_by, reason="created")


def insert_recorded(job: Job, audit_entry: AuditEntry, services: Services) -> Enqueued:
    job = offloaded(job, services)
    for _ in tries(services):
        if services.store.audits.commit([insertion(job)], audit_of_new_job(audit_entry, job, services)):
            return Enqueued(job_id=job.job_id, created=True)
    raise contended(audit_entry.target)


def audit_of_new_job(audit_entry: AuditEntry, job: Job, services: Services) -> Audit:
    return services.store.audits.audit(audit_entry, is_first=audit_entry.target == job_target(job.job_id))
