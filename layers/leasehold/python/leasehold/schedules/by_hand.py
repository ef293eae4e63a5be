"""Runs outside of a schedule's plan: one now, or those of past slots that have none."""

from __future__ import annotations

from datetime import timedelta
from itertools import batched, islice
from typing import TYPE_CHECKING

from leasehold.audit.records import audit_entry_of, check_audit_entry, retried
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.jobs import insertion
from leasehold.kernel.keys import to_text
from leasehold.kernel.times import instant
from leasehold.payloads.items import laid_out
from leasehold.schedules.records import triggered_by_hand
from leasehold.schedules.recurrence import slots_between
from leasehold.schedules.trigger import id_of_slot, job_of_slot, look_up_template, tell
from leasehold.schedules.verbs import find

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.audit.records import AuditEntry
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change, Record
    from leasehold.schedules.model import Schedule

MAX_BACKFILL = 10_000
# As many as one BatchGetItem can fetch.
_READ_AT_ONCE = 100


def run_now(name: str, services: Services, *, reason: str) -> JobId:
    """Make a job of a schedule outside of its plan, paused or not. Two calls within a minute make one."""
    services.deployment.refuse_if_halted()
    schedule, slot = find(name, services), services.clock.now().replace(second=0, microsecond=0)
    look_up_template(schedule, services)
    job = job_of_slot(schedule, slot, services, kind="by-hand", created_by=services.identity.actor())
    audit_entry = _audit_entry(schedule, "trigger", {"job_id": job.job_id}, services, reason)
    _make(job, audit_entry, services, also=[triggered_by_hand(schedule, audit_entry.at)])
    return job.job_id


def backfill(
    name: str,
    start: datetime,
    end: datetime,
    services: Services,
    *,
    reason: str,
    beyond_retention: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[JobId]:
    """Make the jobs of slots from `start` to `end` that have none, up to now; a slot that was run is not run again.

    Of slots that are older than the type's retention nobody knows any more whether they were: they are refused, unless
    `beyond_retention` says that they may be run twice. All are made at once, whatever the schedule says about overlaps:
    the job type's concurrency paces them.
    """
    services.deployment.refuse_if_halted()
    schedule = find(name, services)
    slots = _past_slots(schedule, start, end, services, beyond_retention=beyond_retention)
    look_up_template(schedule, services)
    made = []
    for number, slot in enumerate(slots, start=1):
        services.deployment.refuse_if_halted()
        job = job_of_slot(schedule, slot, services, created_by=services.identity.actor())
        audit_entry = _audit_entry(
            schedule, "backfill", {"job_id": job.job_id, "slot": to_text(slot)}, services, reason
        )
        if _make(job, audit_entry, services):
            made.append(job.job_id)
        if progress is not None:
            progress(number, len(slots))
    return made


def slots_without_jobs(
    name: str, start: datetime, end: datetime, services: Services, *, beyond_retention: bool = False
) -> list[datetime]:
    """The dry run of a backfill: the slots whose jobs it would make."""
    schedule = find(name, services)
    slots = _past_slots(schedule, start, end, services, beyond_retention=beyond_retention)
    missing: list[datetime] = []
    for some in batched(slots, _READ_AT_ONCE):
        made = services.store.jobs.get_many([id_of_slot(schedule, slot, services) for slot in some])
        missing += [slot for slot in some if id_of_slot(schedule, slot, services) not in made]
    return missing


def _past_slots(
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


def _audit_entry(schedule: Schedule, action: str, details: Record, services: Services, reason: str) -> AuditEntry:
    actor = services.identity.actor()
    reason = check_audit_entry("schedule", actor, reason, services)
    return audit_entry_of(f"schedule#{schedule.name}", action, details, services, by=actor, reason=reason)


def _make(job: Job, audit_entry: AuditEntry, services: Services, *, also: Sequence[Change] = ()) -> bool:
    """Make a job with the record of who wanted it; False, and no record, where the slot has its job already."""

    def attempt() -> bool | None:
        if services.store.jobs.get(job.job_id) is not None:
            return False
        stored = laid_out(job, services)
        audit = services.store.audits.audit(audit_entry)
        return services.store.audits.commit([insertion(stored), *also], audit) or None

    is_new = retried(audit_entry.target, attempt, services)
    if is_new:
        tell(job, services)
    return is_new
