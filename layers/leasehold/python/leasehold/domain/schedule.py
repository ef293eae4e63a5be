"""A schedule: which jobs a recurrence makes, and what to do about runs that were missed or overlap."""

from __future__ import annotations

from dataclasses import field, fields
from datetime import timedelta
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, assert_never

from leasehold.domain.errors import InvalidOptionError
from leasehold.domain.instants import EPOCH
from leasehold.domain.lean import dataclass
from leasehold.domain.names import parse_name
from leasehold.domain.recurrence import latest_slot, slots_after, slots_between

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.due import Priority
    from leasehold.domain.ids import JobId
    from leasehold.domain.recurrence import Recurrence

# EventBridge is exact to a minute, and so is the tick: a slot this old is still on time.
ON_TIME = timedelta(minutes=2)
# Jobs made at once: with the schedule itself they fill a quarter of a transaction.
MAX_AT_ONCE = 24


class Missed(StrEnum):
    """What becomes of slots that passed while nothing could run: a halt, an outage, a deployment."""

    LATEST = "latest"  # one run, for the latest of them
    ALL = "all"  # one run each, as far back as `missed_window`
    SKIP = "skip"  # none


class Overlap(StrEnum):
    """What to do when a slot comes and the job of the one before has not ended."""

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE = "queue"  # the slot waits until that job has ended


class Origin(StrEnum):
    """Who owns a schedule: a deployment replaces its own, and leaves those made at run time alone."""

    DEPLOYED = "deployed"
    MADE = "made"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """`cursor` is the moment up to which every slot has been decided: made, skipped, or passed over."""

    name: str
    job_type: str
    payload_text: str
    recurrence: Recurrence
    enabled: bool = True
    missed: Missed = Missed.LATEST
    missed_window: timedelta = timedelta(days=1)
    overlap: Overlap = Overlap.SKIP
    priority: Priority | None = None
    # The payload is then laid over the template's, as it is when a slot comes.
    template: str | None = None
    # What follows is not part of the definition, but what became of it.
    cursor: datetime = EPOCH
    paused: bool = False
    origin: Origin = Origin.MADE
    version: int = 1
    created_by: str = "system"
    last_triggered_at: datetime | None = None
    last_job_id: JobId | None = None
    # Deleted; the item stays until EventBridge has forgotten it too.
    retired: bool = False
    # What EventBridge was last told, and what it said if it refused.
    mirrored_version: int = 0
    mirror_error: str | None = None
    # When EventBridge is told the same once more: see converge.py.
    mirror_again_at: datetime | None = None
    audit_head: str | None = field(default=None, compare=False)
    due_key: str | None = field(default=None, compare=False)

    @property
    def is_active(self) -> bool:
        """Whether its slots are run at all."""
        return self.enabled and not self.paused and not self.retired

    @property
    def is_mirrored(self) -> bool:
        """Whether EventBridge knows it as it is. A deployment tells it of its own schedules by itself."""
        return self.origin is Origin.DEPLOYED or self.mirrored_version == self.version

    @property
    def definition(self) -> tuple[object, ...]:
        """What a deployment or an update decides."""
        return tuple(getattr(self, each.name) for each in fields(self)[:_DEFINED])

    def next_slot(self) -> datetime | None:
        """The first slot that has not been decided yet; None if none comes."""
        return next(slots_after(self.recurrence, self.cursor), None)


_DEFINED = [each.name for each in fields(Schedule)].index("cursor")


@dataclass(frozen=True, slots=True)
class Decision:
    """Slots to make jobs for, and how far the schedule has then decided."""

    make: tuple[datetime, ...]
    cursor: datetime


def default_overlap(missed: Missed) -> Overlap:
    """Slots are skipped while their predecessor runs; where all missed ones are wanted, they queue instead."""
    return Overlap.QUEUE if missed is Missed.ALL else Overlap.SKIP


def parse_schedule_name(name: object) -> str:
    return parse_name(name, "schedule", "nightly-backup")


def parse_window(window: object) -> timedelta:
    if not isinstance(window, timedelta) or not timedelta(seconds=1) <= window <= timedelta(days=400):
        raise InvalidOptionError(
            window, "the window of missed runs is a timedelta of 1 second to 400 days", "Use timedelta(days=1)."
        )
    return window


def decide(schedule: Schedule, now: datetime) -> Decision:
    """Which of the slots that have come are to be run, by the schedule's own policy."""
    recurrence, cursor = schedule.recurrence, schedule.cursor
    match schedule.missed:
        case Missed.LATEST:
            latest = latest_slot(recurrence, cursor, now)
            return Decision((latest,) if latest else (), max(latest or cursor, cursor))
        case Missed.SKIP:
            start = max(cursor, now - ON_TIME)
            slots = tuple(slots_between(recurrence, start, now))
            return Decision(slots, slots[-1] if slots else start)
        case Missed.ALL:
            start = max(cursor, now - schedule.missed_window)
            chosen = tuple(islice(slots_between(recurrence, start, now), MAX_AT_ONCE))
            return Decision(chosen, chosen[-1] if chosen else start)
        case _:
            assert_never(schedule.missed)
