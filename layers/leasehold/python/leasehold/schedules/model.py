"""A schedule: which jobs a recurrence makes, and what to do about runs that were missed or overlap."""

from __future__ import annotations

from dataclasses import field, fields, replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypedDict, assert_never

from leasehold.kernel.errors import InvalidOptionError, RefusedError
from leasehold.kernel.keys import EPOCH
from leasehold.kernel.type_options import parse_choice, parse_name, parse_priority
from leasehold.lean import dataclass
from leasehold.schedules.recurrence import (
    Cron,
    Every,
    InTheGap,
    WhenRepeated,
    check_slots,
    latest_slot,
    slots_after,
    slots_between,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from leasehold.kernel.keys import JobId, Priority, PriorityName
    from leasehold.schedules.recurrence import Recurrence


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
    # When a slot was seen in time that a poll is to decide: however late that poll is, it was not missed.
    seen_at: datetime | None = None
    # Deleted; the item stays until EventBridge has forgotten it too.
    retired: bool = False
    # What EventBridge was last told, and what it said if it refused.
    mirrored_version: int = 0
    mirror_error: str | None = None
    # When EventBridge is told the same once more: see trigger.py.
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
    def definition(self) -> dict[str, Any]:
        """What a deployment or an update decides."""
        return {each.name: getattr(self, each.name) for each in fields(self)[:DEFINED]}

    def next_slot(self) -> datetime | None:
        """The first slot that has not been decided yet; None if none comes."""
        return next(slots_after(self.recurrence, self.cursor), None)


DEFINED = [each.name for each in fields(Schedule)].index("cursor")


def coming_slots(schedule: Schedule, now: datetime) -> Iterator[datetime]:
    """Those from now on; none while it is disabled or paused."""
    return slots_after(schedule.recurrence, max(schedule.cursor, now)) if schedule.is_active else iter(())


def due_after_change(schedule: Schedule, now: datetime) -> datetime | None:
    """When a poll is to look at it: at once where EventBridge is still to be told of it."""
    if not schedule.is_mirrored:
        return now
    return schedule.next_slot() if schedule.is_active else None


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
        problem = "the window of missed runs is a timedelta of 1 second to 400 days"
        raise InvalidOptionError(window, problem, "Use timedelta(days=1).")
    return window


def decide(schedule: Schedule, now: datetime) -> Decision:
    """Which of the slots that have come are to be run, by the schedule's own policy."""
    recurrence, cursor = schedule.recurrence, schedule.cursor
    match schedule.missed:
        case Missed.LATEST:
            latest = latest_slot(recurrence, cursor, now)
            return Decision((latest,) if latest else (), max(latest or cursor, cursor))
        case Missed.SKIP:
            start = max(cursor, min(now, schedule.seen_at or now) - ON_TIME)
            slots = tuple(slots_between(recurrence, start, now))
            return Decision(slots, slots[-1] if slots else start)
        case Missed.ALL:
            start = max(cursor, now - schedule.missed_window)
            chosen = tuple(islice(slots_between(recurrence, start, now), MAX_AT_ONCE))
            return Decision(chosen, chosen[-1] if chosen else start)
        case _:
            assert_never(schedule.missed)


class ScheduleOptions(TypedDict, total=False):
    """The options of a schedule; see `Schedules.create`."""

    template: str | None
    every: timedelta | None
    cron: str | None
    timezone: str | None
    on_dst_gap: InTheGap | str | None
    on_dst_overlap: WhenRepeated | str | None
    missed: Missed | str | None
    missed_window: timedelta | None
    overlap: Overlap | str | None
    priority: Priority | PriorityName | int | None
    enabled: bool | None


class Plan(ScheduleOptions, total=False):
    """What a caller says of a schedule; None for what it leaves to the default, or to what it is now."""

    job_type: str | None
    payload_text: str | None


def _interval(value: object) -> timedelta:
    if not isinstance(value, timedelta):
        raise InvalidOptionError(value, "every is a timedelta", "Use timedelta(minutes=30).")
    return value


_PARSE: dict[str, Callable[[Any], object]] = {
    "every": _interval,
    "missed_window": parse_window,
    "priority": parse_priority,
    "on_dst_gap": partial(parse_choice, InTheGap, what="on_dst_gap"),
    "on_dst_overlap": partial(parse_choice, WhenRepeated, what="on_dst_overlap"),
    "missed": partial(parse_choice, Missed, what="missed"),
    "overlap": partial(parse_choice, Overlap, what="overlap"),
}
_LOCAL = ("timezone", "on_dst_gap", "on_dst_overlap")


def planned(name: str, plan: Plan, old: Schedule | None = None) -> Schedule:
    """The schedule with what the plan says; the rest is as it was, or the default."""
    if unknown := plan.keys() - Plan.__optional_keys__:
        raise TypeError(f"a schedule has no option {min(unknown)!r}")
    said = {each: _PARSE[each](value) if each in _PARSE else value for each, value in plan.items() if value is not None}
    new: dict[str, Any] = {"name": parse_schedule_name(name), "job_type": "", "payload_text": "{}", "recurrence": None}
    was = old.definition if old else new
    if "template" in said:
        was["job_type"] = ""  # another template brings its own type along
    slots = {each: said.pop(each) for each in ("every", "cron", *_LOCAL) if each in said}
    schedule = Schedule(**{**was, **said, "recurrence": _recurrence(slots, was["recurrence"])})
    return schedule if old or "overlap" in said else replace(schedule, overlap=default_overlap(schedule.missed))


def _recurrence(said: dict[str, Any], old: Recurrence | None) -> Recurrence:
    line, local = said.get("cron"), {each: said[each] for each in _LOCAL if each in said}
    every = said.get("every", old.interval if isinstance(old, Every) and line is None else None)
    if every is not None and line is not None:
        raise InvalidOptionError((every, line), "every and cron exclude each other", "Pass one of them.")
    if every is not None:
        if local:
            problem = "a rate is the same in every timezone, whatever its clocks do"
            raise InvalidOptionError(tuple(map(said.get, _LOCAL)), problem, "Leave these out, or use cron.")
        return Every(every)
    if line is None and old is None:
        fix = 'Pass every=timedelta(minutes=30), or cron="0 9 * * 1-5".'
        raise InvalidOptionError(None, "a schedule has a rate or a cron line", fix)
    values = local if line is None else {"line": line, **local}
    cron = replace(old, **values) if isinstance(old, Cron) else Cron(**values)
    check_slots(cron)
    return cron


class ScheduleNotFoundError(RefusedError, code="schedule_not_found"):
    def __init__(self, name: str) -> None:
        super().__init__(f"there is no schedule {name!r}. Look at the names with queue.schedules.list().")
        self.name = name


class ScheduleExistsError(RefusedError, code="schedule_exists"):
    def __init__(self, name: str, origin: str) -> None:
        super().__init__(f"there is a schedule {name!r} already ({origin}). Update it, or choose another name.")
        self.name = name


class ScheduleDeployedError(RefusedError, code="schedule_deployed"):
    def __init__(self, name: str, wanted: str) -> None:
        super().__init__(
            f"cannot {wanted} schedule {name!r}: it comes from functions/jobs/{name}/job.toml, and the next deployment "
            "would undo it. Change it there and deploy, or pause it."
        )
        self.name = name
