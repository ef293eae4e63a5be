"""Create, change, pause and delete schedules. Each change is committed with its audit record; EventBridge follows.

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
    planned,
    replanned,
)
from leasehold.schedules.records import definition_record
from leasehold.templates.model import job_type_from, merged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.audit.records import AuditEntry
    from leasehold.kernel.services import Services
    from leasehold.schedules.model import Plan, Schedule

_DEPLOYMENT = ("deployment", "deployed")


def find(name: str, services: Services) -> Schedule:
    schedule = services.store.schedules.get(parse_schedule_name(name))
    if schedule is None or schedule.retired:
        raise ScheduleNotFoundError(name)
    return schedule


def all_schedules(services: Services) -> list[Schedule]:
    return [schedule for schedule in readable(services.store.schedules.all(), services) if not schedule.retired]


def create(name: str, plan: Plan, services: Services, *, by: str, reason: str) -> Schedule:
    """Make a schedule whose first slot is the next one from now."""
    wanted = _checked(planned(name, plan), services)

    def new(old: Schedule | None) -> Schedule:
        if old is not None and not old.retired:
            raise ScheduleExistsError(name, old.origin)
        return _made(wanted, old, services.clock.now(), by)

    return _change(wanted.name, "create", new, services, by=by, reason=reason)


def update(name: str, plan: Plan, services: Services, *, by: str, reason: str) -> Schedule:
    """Change what a schedule does. Another plan counts from now on; missed slots of the old one are not run."""

    def new(old: Schedule | None) -> Schedule:
        found = _made_here(old, name, "update")
        return _redefined(found, _checked(replanned(found, plan), services), services.clock.now())

    return _change(parse_schedule_name(name), "update", new, services, by=by, reason=reason)


def pause(name: str, services: Services, *, by: str, reason: str) -> Schedule:
    """Run no slots until it is resumed. A pause outlasts deployments."""

    def new(old: Schedule | None) -> Schedule:
        found = _found(old, name)
        return found if found.paused else replace(found, paused=True, version=found.version + 1)

    return _change(parse_schedule_name(name), "pause", new, services, by=by, reason=reason)


def resume(name: str, services: Services, *, by: str, reason: str) -> Schedule:
    """Run its slots again, from the next one on. Those that passed meanwhile were not missed, but not wanted."""

    def new(old: Schedule | None) -> Schedule:
        found = _found(old, name)
        if not found.paused:
            return found
        return replace(found, paused=False, cursor=services.clock.now(), version=found.version + 1)

    return _change(parse_schedule_name(name), "resume", new, services, by=by, reason=reason)


def delete(name: str, services: Services, *, by: str, reason: str) -> None:
    """Remove a schedule; the jobs that it has made are left alone."""

    def new(old: Schedule | None) -> Schedule:
        found = _made_here(old, name, "delete")
        return replace(found, retired=True, version=found.version + 1)

    _change(parse_schedule_name(name), "delete", new, services, by=by, reason=reason)


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
        _change(wanted.name, "deploy", _deployed(wanted, services, by), services, by=by, reason=reason)
    names = {wanted.name for wanted in definitions}
    for name in [each.name for each in known.values() if each.origin is Origin.DEPLOYED and each.name not in names]:
        _remove(name, services, by=by, reason=reason)


def _deployed(wanted: Schedule, services: Services, by: str) -> Callable[[Schedule | None], Schedule]:
    def new(old: Schedule | None) -> Schedule:
        if old is None or old.retired:
            return replace(_made(wanted, old, services.clock.now(), by), origin=Origin.DEPLOYED)
        return old if old.definition == wanted.definition else _redefined(old, wanted, services.clock.now())

    return new


def _change(
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


def _made(wanted: Schedule, old: Schedule | None, now: datetime, by: str) -> Schedule:
    version = old.version + 1 if old else 1
    return replace(wanted, cursor=now, version=version, created_by=by)


def _redefined(old: Schedule, wanted: Schedule, now: datetime) -> Schedule:
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


def _checked(schedule: Schedule, services: Services) -> Schedule:
    """That a job could be made of it today: its type is deployed, its payload fits its template."""
    if schedule.template is not None:
        template = services.templates.get(schedule.template, fresh=True)
        merged(template.payload_text, schedule.payload_text)
        schedule = replace(schedule, job_type=job_type_from(template, schedule.job_type or None))
    services.deployment.registry().job_type(parse_users_job_type(schedule.job_type))
    return schedule


def _found(schedule: Schedule | None, name: str) -> Schedule:
    if schedule is None or schedule.retired:
        raise ScheduleNotFoundError(name)
    return schedule


def _made_here(schedule: Schedule | None, name: str, wanted: str) -> Schedule:
    found = _found(schedule, name)
    if found.origin is Origin.DEPLOYED:
        raise ScheduleDeployedError(name, wanted)
    return found
