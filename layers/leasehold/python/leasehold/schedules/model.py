"""A schedule: which jobs a recurrence makes, and what to do about runs that were missed or overlap."""

from __future__ import annotations

from dataclasses import field, fields, replace
from datetime import timedelta
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, assert_never

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
    def definition(self) -> tuple[object, ...]:
        """What a deployment or an update decides."""
        return tuple(getattr(self, each.name) for each in fields(self)[:DEFINED])

    def next_slot(self) -> datetime | None:
        """The first slot that has not been decided yet; None if none comes."""
        return next(slots_after(self.recurrence, self.cursor), None)


DEFINED = [each.name for each in fields(Schedule)].index("cursor")


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
            start = max(cursor, min(now, schedule.seen_at or now) - ON_TIME)
            slots = tuple(slots_between(recurrence, start, now))
            return Decision(slots, slots[-1] if slots else start)
        case Missed.ALL:
            start = max(cursor, now - schedule.missed_window)
            chosen = tuple(islice(slots_between(recurrence, start, now), MAX_AT_ONCE))
            return Decision(chosen, chosen[-1] if chosen else start)
        case _:
            assert_never(schedule.missed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a caller says of a schedule; None for what it leaves to the default, or to what it is now."""

    job_type: str | None = None
    payload_text: str | None = None
    every: timedelta | None = None
    cron: str | None = None
    timezone: str | None = None
    on_dst_gap: InTheGap | str | None = None
    on_dst_overlap: WhenRepeated | str | None = None
    missed: Missed | str | None = None
    missed_window: timedelta | None = None
    overlap: Overlap | str | None = None
    priority: Priority | PriorityName | int | None = None
    template: str | None = None
    enabled: bool | None = None


def planned(name: str, plan: Plan) -> Schedule:
    """A new schedule, with the default of everything that the plan leaves open."""
    recurrence = _recurrence(plan, None)
    bare = Schedule(name=parse_schedule_name(name), job_type="", payload_text="{}", recurrence=recurrence)
    new = replanned(bare, plan)
    return new if plan.overlap is not None else replace(new, overlap=default_overlap(new.missed))


def replanned(old: Schedule, plan: Plan) -> Schedule:
    """The schedule with what the plan says, and as it was in everything else."""
    return Schedule(
        name=old.name,
        # Another template brings its own type along.
        job_type=plan.job_type or (old.job_type if plan.template is None else ""),
        payload_text=plan.payload_text or old.payload_text,
        recurrence=_recurrence(plan, old.recurrence),
        missed=old.missed if plan.missed is None else parse_choice(Missed, plan.missed, "missed"),
        missed_window=old.missed_window if plan.missed_window is None else parse_window(plan.missed_window),
        overlap=old.overlap if plan.overlap is None else parse_choice(Overlap, plan.overlap, "overlap"),
        priority=old.priority if plan.priority is None else parse_priority(plan.priority),
        template=old.template if plan.template is None else plan.template,
        enabled=old.enabled if plan.enabled is None else plan.enabled,
    )


def _recurrence(plan: Plan, old: Recurrence | None) -> Recurrence:
    if plan.every is not None and plan.cron is not None:
        raise InvalidOptionError((plan.every, plan.cron), "every and cron exclude each other", "Pass one of them.")
    local = (plan.timezone, plan.on_dst_gap, plan.on_dst_overlap)
    if plan.every is not None or (plan.cron is None and isinstance(old, Every)):
        if any(each is not None for each in local):
            raise InvalidOptionError(
                local, "a rate is the same in every timezone, whatever its clocks do", "Leave these out, or use cron."
            )
        return old if isinstance(old, Every) and plan.every is None else Every(_interval(plan.every))
    before = old if isinstance(old, Cron) else None
    line = plan.cron if plan.cron is not None else before.line if before else None
    if line is None:
        raise InvalidOptionError(
            None, "a schedule has a rate or a cron line", 'Pass every=timedelta(minutes=30), or cron="0 9 * * 1-5".'
        )
    was = before or Cron(line)
    cron = Cron(
        line,
        was.timezone if plan.timezone is None else plan.timezone,
        was.on_dst_gap if plan.on_dst_gap is None else parse_choice(InTheGap, plan.on_dst_gap, "on_dst_gap"),
        was.on_dst_overlap
        if plan.on_dst_overlap is None
        else parse_choice(WhenRepeated, plan.on_dst_overlap, "on_dst_overlap"),
    )
    check_slots(cron)
    return cron


def _interval(value: object) -> timedelta:
    if not isinstance(value, timedelta):
        raise InvalidOptionError(value, "every is a timedelta", "Use timedelta(minutes=30).")
    return value


class ScheduleNotFoundError(RefusedError):
    code = "schedule_not_found"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no schedule {name!r}. Look at the names with queue.schedules.list().")
        self.name = name


class ScheduleExistsError(RefusedError):
    code = "schedule_exists"

    def __init__(self, name: str, origin: str) -> None:
        super().__init__(f"there is a schedule {name!r} already ({origin}). Update it, or choose another name.")
        self.name = name


class ScheduleDeployedError(RefusedError):
    code = "schedule_deployed"

    def __init__(self, name: str, wanted: str) -> None:
        super().__init__(
            f"cannot {wanted} schedule {name!r}: it comes from functions/jobs/{name}/job.toml, and the next deployment "
            "would undo it. Change it there and deploy, or pause it."
        )
        self.name = name
