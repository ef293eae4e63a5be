"""Check the definition of a schedule: every argument of a caller, before anything is written."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.errors import InvalidOptionError
from leasehold.domain.lean import dataclass
from leasehold.domain.recurrence import Cron, Every, InTheGap, WhenRepeated, check_slots
from leasehold.domain.schedule import Missed, Overlap, Schedule, default_overlap, parse_schedule_name, parse_window
from leasehold.engine.draft import parse_priority

if TYPE_CHECKING:
    from enum import StrEnum

    from leasehold.domain.due import Priority
    from leasehold.domain.recurrence import Recurrence


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a caller says of a schedule; None for what it leaves to the default, or to what it is now."""

    job_type: str | None = None
    payload_text: str | None = None
    every: timedelta | None = None
    cron: str | None = None
    timezone: str | None = None
    in_the_gap: InTheGap | str | None = None
    when_repeated: WhenRepeated | str | None = None
    missed: Missed | str | None = None
    missed_window: timedelta | None = None
    overlap: Overlap | str | None = None
    priority: Priority | int | None = None
    template: str | None = None
    enabled: bool | None = None


def planned(name: str, plan: Plan) -> Schedule:
    """A new schedule, with the default of everything that the plan leaves open."""
    missed = _parse(Missed, "missed", plan.missed, Missed.LATEST)
    recurrence = _recurrence(plan, None)
    return Schedule(
        name=parse_schedule_name(name),
        job_type=plan.job_type or "",
        payload_text=plan.payload_text or "{}",
        recurrence=recurrence,
        missed=missed,
        missed_window=parse_window(timedelta(days=1) if plan.missed_window is None else plan.missed_window),
        overlap=_parse(Overlap, "overlap", plan.overlap, default_overlap(missed)),
        priority=None if plan.priority is None else parse_priority(plan.priority),
        template=plan.template,
        enabled=True if plan.enabled is None else plan.enabled,
    )


def replanned(old: Schedule, plan: Plan) -> Schedule:
    """The schedule with what the plan says, and as it was in everything else."""
    return Schedule(
        name=old.name,
        # Another template brings its own type along.
        job_type=plan.job_type or (old.job_type if plan.template is None else ""),
        payload_text=plan.payload_text or old.payload_text,
        recurrence=_recurrence(plan, old.recurrence),
        missed=_parse(Missed, "missed", plan.missed, old.missed),
        missed_window=old.missed_window if plan.missed_window is None else parse_window(plan.missed_window),
        overlap=_parse(Overlap, "overlap", plan.overlap, old.overlap),
        priority=old.priority if plan.priority is None else parse_priority(plan.priority),
        template=old.template if plan.template is None else plan.template,
        enabled=old.enabled if plan.enabled is None else plan.enabled,
    )


def _recurrence(plan: Plan, old: Recurrence | None) -> Recurrence:
    if plan.every is not None and plan.cron is not None:
        raise InvalidOptionError((plan.every, plan.cron), "every and cron exclude each other", "Pass one of them.")
    local = (plan.timezone, plan.in_the_gap, plan.when_repeated)
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
        _parse(InTheGap, "in_the_gap", plan.in_the_gap, was.in_the_gap),
        _parse(WhenRepeated, "when_repeated", plan.when_repeated, was.when_repeated),
    )
    check_slots(cron)
    return cron


def _interval(value: object) -> timedelta:
    if not isinstance(value, timedelta):
        raise InvalidOptionError(value, "every is a timedelta", "Use timedelta(minutes=30).")
    return value


def _parse[Choice: StrEnum](kind: type[Choice], what: str, value: str | None, default: Choice) -> Choice:
    if value is None:
        return default
    try:
        return kind(value)
    except ValueError:
        raise InvalidOptionError(value, f"{what} is not known", f"Use one of {', '.join(kind)}.") from None
