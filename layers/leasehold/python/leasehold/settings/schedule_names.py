"""Names and events of schedules in EventBridge, for the stacks that make them and for the program that does."""

from __future__ import annotations

import hashlib
import json

SOURCE = "leasehold.schedule"
MAX_NAME = 64  # by EventBridge


def event_schedule_name(name: str) -> str:
    """Unique in the queue's own group.

    >>> event_schedule_name("backup")
    'backup'
    """
    if len(name) <= MAX_NAME:
        return name
    return f"{name[: MAX_NAME - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def wake_event(name: str) -> str:
    """What the trigger function is given."""
    return json.dumps({"source": SOURCE, "schedule": name})
