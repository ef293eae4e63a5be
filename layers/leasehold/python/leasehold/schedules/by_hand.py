"""Runs outside of a schedule's plan: one now, or those of past slots that have none."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

from leasehold.audit.records import audit_entry_by_actor, retried
from leasehold.kernel.enqueue import log_enqueued
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.jobs import insertion
from leasehold.kernel.keys import to_text
from leasehold.kernel.offload import offloaded
from leasehold.kernel.times import instant
from leasehold.schedules.records import triggered_by_hand
from leasehold.schedules.recurrence import slots_between

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Attribute
    from leasehold.schedules.model import Schedule

MAX_BACKFILL = 10_000
# What a run outside of the plan is called in the audit trail.
TRIGGER = "trigger"


def past_slots(
    schedule: Schedule, start: datetime, end: datetime, services: Services, *, beyond_retention: bool
) -> list[datetime]:
    first, last = instant(start, what="start"), min(instant(end, what="end"), services.clock.now())
    after = first - timedelta(milliseconds=1)
    slots = list(islice(slots_between(schedule.recurrence, after, last), MAX_BACKFILL + 1))
    if len(slots) > MAX_BACKFILL:
        raise InvalidOptionError((start, end), f"these are more than {MAX_BACKFILL} slots", "Backfill in parts.")
    if slots and not beyond_retention:
        _refuse_if_forgotten(schedule, slots[0], services)
    return slots


def _refuse_if_forgotten(schedule: Schedule, oldest: datetime, services: Services) -> None:
    """A job that ended stays for its retention: only so long does its absence say that there was none."""
    retention = services.deployment.settings_of(schedule.job_type).retention
    kept_for = min(retention.completed, retention.cancelled, retention.dead_letter)
    known_since = services.clock.now() - kept_for
    if oldest < known_since:
        raise InvalidOptionError(
            to_text(oldest),
            f"ended jobs of {schedule.job_type} are kept for {kept_for.total_seconds() / 86_400:g} days: whether a "
            "slot before that was run is not known any more",
            f"Start at {to_text(known_since)}, or say that slots may be run twice: beyond_retention=True, "
            "--beyond-retention.",
        )


def make_job(
    schedule: Schedule, job: Job, action: str, services: Services, *, reason: str, **details: Attribute
) -> bool:
    """Make a job with the record of who wanted it; False, and no record, where the slot has its job already."""
    target = f"schedule#{schedule.name}"
    entry = audit_entry_by_actor("schedule", target, action, services, reason=reason, job_id=job.job_id, **details)
    also = [triggered_by_hand(schedule, entry.at)] if action == TRIGGER else []

    def attempt() -> bool | None:
        if services.store.jobs.get(job.job_id) is not None:
            return False
        stored = offloaded(job, services)
        audit = services.store.audits.audit(entry)
        return services.store.audits.commit([insertion(stored), *also], audit) or None

    is_new = retried(target, attempt, services)
    if is_new:
        log_enqueued(job, services)
    return is_new
