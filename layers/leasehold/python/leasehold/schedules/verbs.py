"""Changes of schedules, by people and by deployments. Each is committed with its audit record; EventBridge follows.

What a change leaves to be told makes the schedule due at once: the next poll tells EventBridge, see trigger.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.audit.records import audit_entry_of, check_audit_entry, retried
from leasehold.kernel.job_type import parse_users_job_type
from leasehold.kernel.unreadable import readable
from leasehold.schedules.model import (
    Origin,
    ScheduleDeployedError,
    ScheduleExistsError,
    ScheduleNotFoundError,
    parse_schedule_name,
)
from leasehold.schedules.records import definition_record
from leasehold.templates.model import job_type_from, merged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.audit.records import AuditEntry
    from leasehold.kernel.services import Services
    from leasehold.schedules.model import Schedule

_DEPLOYMENT = ("deployment", "deployed")


def find(name: str, services: Services) -> Schedule:
    return existing(services.store.schedules.get(parse_schedule_name(name)), name)


def all_schedules(services: Services) -> list[Schedule]:
    return [schedule for schedule in readable(services.store.schedules.all(), services) if not schedule.retired]


def deploy(definitions: Sequence[Schedule], services: Services) -> None:
    """Make the deployed schedules be these, and leave those alone that were made at run time."""
    by, reason = _DEPLOYMENT
    known = {schedule.name: schedule for schedule in services.store.schedules.all().items}
    for wanted in definitions:
        found = known.get(wanted.name)
        if found is not None and found.origin is Origin.MADE and not found.retired:
            # Said before anything is written.
            raise ScheduleExistsError(wanted.name, found.origin)
    for wanted in definitions:
        change(wanted.name, "deploy", _deployed(wanted, services, by), services, by=by, reason=reason)
    names = {wanted.name for wanted in definitions}
    for name in [each.name for each in known.values() if each.origin is Origin.DEPLOYED and each.name not in names]:
        _remove(name, services, by=by, reason=reason)


def _deployed(wanted: Schedule, services: Services, by: str) -> Callable[[Schedule | None], Schedule]:
    def new(old: Schedule | None) -> Schedule:
        if old is None or old.retired:
            return replace(made(wanted, old, services.clock.now(), by), origin=Origin.DEPLOYED)
        return old if old.definition == wanted.definition else redefined(old, wanted, services.clock.now())

    return new


def change(
    name: str,
    action: str,
    new: Callable[[Schedule | None], Schedule],
    services: Services,
    *,
    by: str,
    reason: str,
) -> Schedule:
    """Read, decide, and write if it is still what was read; a change that changes nothing writes nothing."""
    reason = check_audit_entry("schedule", by, reason, services)

    def attempt() -> Schedule | None:
        old = services.store.schedules.get(name)
        changed = new(old)
        if changed == old:
            return changed
        audit_entry = _audit_entry(changed, action, services, by=by, reason=reason)
        due_at = _due_at(changed, audit_entry.at)
        return changed if services.store.schedules.commit(old, changed, audit_entry, due_at=due_at) else None

    return retried(f"schedule {name!r}", attempt, services)


def _remove(name: str, services: Services, *, by: str, reason: str) -> None:
    def attempt() -> bool | None:
        old = services.store.schedules.get(name)
        if old is None or old.origin is not Origin.DEPLOYED:
            return True
        audit_entry = _audit_entry(old, "delete", services, by=by, reason=reason)
        return services.store.schedules.delete(old, audit_entry) or None

    retried(f"schedule {name!r}", attempt, services)


def made(wanted: Schedule, old: Schedule | None, now: datetime, by: str) -> Schedule:
    version = old.version + 1 if old else 1
    return replace(wanted, cursor=now, version=version, created_by=by)


def redefined(old: Schedule, wanted: Schedule, now: datetime) -> Schedule:
    if old.definition == wanted.definition:
        return old
    # Slots of a plan that did not exist then were not missed; the same plan goes on where it was.
    is_same_plan = old.recurrence == wanted.recurrence and old.enabled
    return replace(
        wanted,
        cursor=old.cursor if is_same_plan else now,
        version=old.version + 1,
        paused=old.paused,
        origin=old.origin,
        created_by=old.created_by,
        last_triggered_at=old.last_triggered_at,
        last_job_id=old.last_job_id,
        mirrored_version=old.mirrored_version,
    )


def _due_at(schedule: Schedule, now: datetime) -> datetime | None:
    if not schedule.is_mirrored:
        return now
    return schedule.next_slot() if schedule.is_active else None


def _audit_entry(schedule: Schedule, action: str, services: Services, *, by: str, reason: str) -> AuditEntry:
    says = {"version": schedule.version, **definition_record(schedule)}
    return audit_entry_of(f"schedule#{schedule.name}", action, says, services, by=by, reason=reason)


def checked(schedule: Schedule, services: Services) -> Schedule:
    """That a job could be made of it today: its type is deployed, its payload fits its template."""
    if schedule.template is not None:
        template = services.templates.get(schedule.template, fresh=True)
        merged(template.payload_text, schedule.payload_text)
        schedule = replace(schedule, job_type=job_type_from(template, schedule.job_type or None))
    services.deployment.registry().job_type(parse_users_job_type(schedule.job_type))
    return schedule


def existing(schedule: Schedule | None, name: str) -> Schedule:
    if schedule is None or schedule.retired:
        raise ScheduleNotFoundError(name)
    return schedule


def made_here(schedule: Schedule | None, name: str, wanted: str) -> Schedule:
    found = existing(schedule, name)
    if found.origin is Origin.DEPLOYED:
        raise ScheduleDeployedError(name, wanted)
    return found
