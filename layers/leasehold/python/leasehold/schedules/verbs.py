"""Changes of schedules, by people and by deployments. Each is committed with its audit record; EventBridge follows.

What a change leaves to be told makes the schedule due at once: the next poll tells EventBridge, see trigger.py.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from leasehold.audit.records import audit_entry_of, check_audit_entry, retried
from leasehold.kernel.job_type import parse_users_job_type
from leasehold.kernel.unreadable import readable
from leasehold.schedules.model import Origin, ScheduleExistsError, ScheduleNotFoundError, parse_schedule_name
from leasehold.schedules.records import definition_record
from leasehold.templates.model import job_type_from, merged, templates_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.kernel.services import Services
    from leasehold.schedules.model import Schedule

    # What becomes of a schedule as it is read; None where there is none, or shall be none.
    type Decide = Callable[[Schedule | None], Schedule | None]

_DEPLOYMENT = ("deployment", "deployed")


def find(name: str, services: Services) -> Schedule:
    return existing(name, services.store.schedules.get(parse_schedule_name(name)))


def existing(name: str, schedule: Schedule | None) -> Schedule:
    if schedule is None or schedule.retired:
        raise ScheduleNotFoundError(name)
    return schedule


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
        change(wanted.name, "deploy", partial(_deployed, wanted, services), services, by=by, reason=reason)
    names = {wanted.name for wanted in definitions}
    for name in [each.name for each in known.values() if each.origin is Origin.DEPLOYED and each.name not in names]:
        change(name, "delete", _not_deployed, services, by=by, reason=reason)


def _deployed(wanted: Schedule, services: Services, old: Schedule | None) -> Schedule:
    now, (by, _) = services.clock.now(), _DEPLOYMENT
    if old is None or old.retired:
        return replace(wanted, cursor=now, created_by=by, origin=Origin.DEPLOYED)
    return redefined(old, wanted, now)


def _not_deployed(old: Schedule | None) -> Schedule | None:
    return None if old is not None and old.origin is Origin.DEPLOYED else old


def change(name: str, action: str, new: Decide, services: Services, *, by: str, reason: str) -> Schedule | None:
    """Read, decide, and write if it is still what was read; a change that changes nothing writes nothing."""
    reason = check_audit_entry("schedule", by, reason, services)

    def attempt() -> tuple[Schedule | None] | None:
        old = services.store.schedules.get(name)
        changed = new(old)
        if changed == old:
            return (changed,)
        if changed is not None:
            changed = replace(changed, version=old.version + 1 if old else 1)
        says = cast("Schedule", changed or old)
        details = {"version": says.version, **definition_record(says)}
        entry = audit_entry_of(f"schedule#{name}", action, details, services, by=by, reason=reason)
        return (changed,) if services.store.schedules.commit(old, changed, entry) else None

    return retried(f"schedule {name!r}", attempt, services)[0]


def redefined(old: Schedule, wanted: Schedule, now: datetime) -> Schedule:
    if old.definition == wanted.definition:
        return old
    # Slots of a plan that did not exist then were not missed; the same plan goes on where it was.
    is_same_plan = old.recurrence == wanted.recurrence and old.enabled
    cursor = old.cursor if is_same_plan else now
    return replace(old, **wanted.definition, cursor=cursor, seen_at=None, mirror_error=None, mirror_again_at=None)


def checked(schedule: Schedule, services: Services) -> Schedule:
    """That a job could be made of it today: its type is deployed, its payload fits its template."""
    if schedule.template is not None:
        template = templates_of(services).get(schedule.template, fresh=True)
        merged(template.payload_text, schedule.payload_text)
        schedule = replace(schedule, job_type=job_type_from(template, schedule.job_type or None))
    services.deployment.registry().job_type(parse_users_job_type(schedule.job_type))
    return schedule
