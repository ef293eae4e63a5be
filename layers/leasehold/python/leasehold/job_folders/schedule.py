"""The `[schedule]` table: when jobs of this type are made by themselves."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Self

from pydantic import PlainValidator, ValidationInfo, field_validator, model_validator

from leasehold.job_folders.toml import Table, choice, duration, text
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.payload import encode_payload
from leasehold.schedules.model import Missed, Overlap, Schedule, default_overlap
from leasehold.schedules.recurrence import Cron, Every, InTheGap, WhenRepeated, check_slots, values_of_field
from leasehold.templates.model import parse_template_name

_RATE = re.compile(r"([1-9]\d{0,4}) (minute|hour|day|week)s?")
# Each field of a cron line, with its bounds.
_CRON = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
_window = duration("the window of missed runs is", timedelta(minutes=1), timedelta(days=400))


def _rate(value: object) -> timedelta:
    found = _RATE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise InvalidOptionError(
            value, "a rate is a number of minutes, hours, days or weeks", 'Use text like "30 minutes".'
        )
    return int(found[1]) * timedelta(**{f"{found[2]}s": 1})


def _cron(value: object) -> str:
    fields = text(value).split()
    if len(fields) != len(_CRON):
        raise InvalidOptionError(
            value,
            f"a cron line has 5 fields, this one has {len(fields)}",
            'Write minute, hour, day of month, month, day of week: "0 9 * * 1-5".',
        )
    line = " ".join(fields)
    for given, values, (name, least, most) in zip(fields, values_of_field(line), _CRON, strict=True):
        if not values:
            raise InvalidOptionError(
                value, f"{given!r} is no {name}", f"Use *, or numbers from {least} to {most}, as in 1-5 or */2."
            )
    return Cron(line).line


def _timezone(value: object) -> str:
    return Cron("* * * * *", text(value)).timezone


def _payload(value: object) -> str:
    if not isinstance(value, dict):
        raise InvalidOptionError(
            value, "a payload is a table", "Write it below a header of its own: [schedule.payload]."
        )
    return encode_payload(value)


class ScheduleTable(Table):
    """Either a rate or a five-field cron line in a timezone."""

    called: ClassVar = "[schedule]"

    rate: Annotated[timedelta | None, PlainValidator(_rate)] = None
    cron: Annotated[str | None, PlainValidator(_cron)] = None
    timezone: Annotated[str, PlainValidator(_timezone)] = "UTC"
    on_dst_gap: Annotated[InTheGap, choice(InTheGap)] = InTheGap.ONCE
    on_dst_overlap: Annotated[WhenRepeated, choice(WhenRepeated)] = WhenRepeated.ONCE
    missed: Annotated[Missed, choice(Missed)] = Missed.LATEST
    missed_window: Annotated[timedelta, _window] = timedelta(days=1)
    overlap: Annotated[Overlap | None, choice(Overlap)] = None
    payload: Annotated[str | None, PlainValidator(_payload)] = None
    # Only its name: what it says is in the table, and is looked up when a slot comes.
    template: Annotated[str | None, PlainValidator(parse_template_name)] = None
    enabled: bool = True

    @field_validator("timezone", "on_dst_gap", "on_dst_overlap")
    @classmethod
    def _of_a_cron_line(cls, value: Any, info: ValidationInfo) -> Any:
        if info.data.get("cron", "") is None:
            raise InvalidOptionError(value, "a rate is the same in every timezone", "Leave it out, or use cron.")
        return value

    @model_validator(mode="after")
    def _comes_due(self) -> Self:
        if (self.rate is None) == (self.cron is None):
            raise InvalidOptionError(
                None, "a schedule has either a rate or a cron", 'Write rate = "30 minutes", or cron = "0 9 * * 1-5".'
            )
        check_slots(self.recurrence)
        return self

    @property
    def recurrence(self) -> Every | Cron:
        if self.rate is not None:
            return Every(self.rate)
        return Cron(self.cron or "", self.timezone, self.on_dst_gap, self.on_dst_overlap)

    def definition(self, job_type: str) -> Schedule:
        """The schedule that a deployment makes of it. A type's own schedule has the type's name."""
        return Schedule(
            name=job_type,
            job_type=job_type,
            payload_text=self.payload or "{}",
            recurrence=self.recurrence,
            overlap=self.overlap or default_overlap(self.missed),
            **self.model_dump(include={"enabled", "missed", "missed_window", "template"}),
        )
