"""Converge: tell EventBridge what the table says of a schedule. The table is committed first, and stays the truth.

Calls to EventBridge may overtake each other: one that was slow lands after the call of a newer version. So each version
is told twice, the second time when every call of an older one is over; and who sees after its call that the schedule
has changed meanwhile has the newest version told anew.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.errors import MirrorError
from leasehold.domain.text import shortened
from leasehold.engine.telemetry import Event
from leasehold.store.schedules import ScheduleChanged

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.schedule import Schedule
    from leasehold.engine.parts import Parts

# When it is told again: after a refusal, and once more after it has listened. A call takes 21 s at most, with retries.
TELL_AGAIN_AFTER = timedelta(minutes=5)
_MAX_ERROR_BYTES = 512


def converge(schedule: Schedule, parts: Parts) -> Schedule | None:
    """The schedule as it is afterwards; None if it is gone, or waits for EventBridge to forget it."""
    tell_at = next_telling_at(schedule, parts)
    if tell_at is None and schedule.retired:
        parts.store.schedules.remove(schedule)
    if tell_at is None or tell_at > parts.clock.now():
        return None if schedule.retired else schedule
    try:
        return _told(schedule, parts)
    except ScheduleChanged:
        _make_up_for(schedule, parts)
        raise


def next_telling_at(schedule: Schedule, parts: Parts) -> datetime | None:
    """When EventBridge is to be told of it; None if it knows, or nobody is to be told."""
    if not parts.mirror.is_on:
        return None
    return schedule.mirror_again_at if schedule.is_mirrored else parts.clock.now()


def _told(schedule: Schedule, parts: Parts) -> Schedule | None:
    now = parts.clock.now()
    is_the_second_time = schedule.is_mirrored
    try:
        if schedule.retired:
            parts.mirror.delete(schedule.name)
        else:
            parts.mirror.put(schedule)
    except MirrorError as error:
        return _refused(schedule, str(error), parts)
    if schedule.retired and is_the_second_time:
        if not parts.store.schedules.remove(schedule):
            raise ScheduleChanged
        return None
    again_at = None if is_the_second_time else now + TELL_AGAIN_AFTER
    noted = parts.store.schedules.note_mirror(schedule, again_at)
    if not noted.retired:
        return noted
    parts.store.schedules.look_again(noted, again_at, now)
    return None


def _refused(schedule: Schedule, error: str, parts: Parts) -> Schedule | None:
    parts.telemetry.event(Event.MIRROR_FAILED, schedule=schedule.name, error=error)
    noted = parts.store.schedules.note_mirror_error(schedule, shortened(error, _MAX_ERROR_BYTES))
    if not noted.retired:
        return noted
    now = parts.clock.now()
    parts.store.schedules.look_again(noted, now + TELL_AGAIN_AFTER, now)
    return None


def _make_up_for(told: Schedule, parts: Parts) -> None:
    """What we have told may have landed on top of what a newer version told."""
    current = parts.store.schedules.get(told.name)
    if current is None:
        if not told.retired:
            parts.mirror.delete(told.name)
    elif current.version != told.version:
        parts.store.schedules.mirror_anew(told.name, parts.clock.now())
