"""Hold lanes: where jobs of a queue wait that may not run now; and what a due key tells of whoever made it due."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.keys import BASE, CREATION_WIDTH, Due, from_millis
from leasehold.kernel.lanes import is_hold_lane

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.other_entries import DueScope


def queue_of(job_type: str, concurrency_key: str | None) -> str:
    """Which jobs wait together: those of one type, and of one key where the type's limits ask for it."""
    return job_type if concurrency_key is None else f"{job_type}#{concurrency_key}"


def type_of_queue(queue: str) -> str:
    return queue.partition("#")[0]


def hold_lane(queue: str, priority: int) -> str:
    """Where jobs of a queue wait that may not run now; by priority, so that a limit does not undo it.

    >>> from leasehold.kernel.keys import Priority
    >>> hold_lane(queue_of("user_sync", "acme"), Priority.HIGH)
    'hold#2#user_sync#acme'
    """
    return f"hold#{int(priority)}#{queue}"


def queue_of_lane(lane: str) -> str | None:
    """The queue of a hold lane; None for any other lane."""
    return lane.split("#", 2)[2] if is_hold_lane(lane) else None


def creation_of(position: str) -> datetime:
    """When what has this position was created, or written.

    >>> creation_of("0mjrz3w00").isoformat()
    '2025-12-30T02:33:49.248000+00:00'
    """
    return from_millis(int(position[:CREATION_WIDTH].ljust(CREATION_WIDTH, "0"), BASE))


def is_asked_for(due_key: str) -> bool:
    """Whether somebody made a scope due, and not time alone."""
    due = Due.parse(due_key)
    return due.at - creation_of(due.position) < timedelta(seconds=1)


def is_left_to_wakes(entry: DueScope, now: datetime, left_for: timedelta) -> bool:
    """Whoever has just made it due is on the way because of it."""
    return is_asked_for(entry.due_key) and now - Due.parse(entry.due_key).at < left_for
