"""Converge: tell EventBridge what the table says of a schedule. The table is committed first, and stays the truth."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.errors import MirrorError
from leasehold.domain.text import shortened
from leasehold.engine.telemetry import Event

if TYPE_CHECKING:
    from leasehold.domain.schedule import Schedule
    from leasehold.engine.parts import Parts

# A refusal is tried again after this, and whenever the schedule is triggered or changed.
TELL_AGAIN_AFTER = timedelta(minutes=5)
_MAX_ERROR_BYTES = 512


def converge(schedule: Schedule, parts: Parts) -> Schedule | None:
    """The schedule as it is afterwards; None if it is gone, or waits for EventBridge to forget it."""
    try:
        if schedule.retired:
            parts.mirror.delete(schedule.name)
            parts.store.schedules.remove(schedule)
            return None
        if not parts.mirror.is_on or schedule.is_mirrored:
            return schedule
        parts.mirror.put(schedule)
    except MirrorError as error:
        return _note(schedule, str(error), parts)
    return parts.store.schedules.note_mirror(schedule, None)


def _note(schedule: Schedule, error: str, parts: Parts) -> Schedule | None:
    parts.telemetry.event(Event.MIRROR_FAILED, schedule=schedule.name, error=error)
    noted = parts.store.schedules.note_mirror(schedule, shortened(error, _MAX_ERROR_BYTES))
    if not noted.retired:
        return noted
    now = parts.clock.now()
    parts.store.schedules.look_again(noted, now + TELL_AGAIN_AFTER, now)
    return None
