"""The `[schedule]` table: when jobs of this type are made by themselves."""

from __future__ import annotations

import re
from datetime import timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

from leasehold.job_folders.toml import Unfit, choice, duration, flag, text
from leasehold.kernel.errors import InvalidInputError
from leasehold.kernel.payload import encode_payload
from leasehold.lean import dataclass
from leasehold.schedules.model import Missed, Overlap, Schedule, default_overlap
from leasehold.schedules.recurrence import Cron, Every, InTheGap, WhenRepeated, check_slots
from leasehold.templates.model import parse_template_name

if TYPE_CHECKING:
    from enum import StrEnum

    from leasehold.job_folders.toml import Section
    from leasehold.kernel.payload import Json

_RATE = re.compile(r"([1-9]\d{0,4}) (minute|hour|day|week)s?")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
# Each field of a cron line: its name, its bounds, and the words that stand for numbers from the first bound on.
_CRON: tuple[tuple[str, int, int, list[str]], ...] = (
    ("minute", 0, 59, []),
    ("hour", 0, 23, []),
    ("day of month", 1, 31, []),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 7, _WEEKDAYS),
)
_WINDOW = duration("the window of missed runs is", timedelta(minutes=1), timedelta(days=400))
_STEP = re.compile(r"(?P<first>\*|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>[1-9]\d*))?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSchedule:
    """Either a rate or a five-field cron line in a timezone."""

    rate: timedelta | None = None
    cron: str | None = None
    timezone: str = "UTC"
    on_dst_gap: InTheGap = InTheGap.ONCE
    on_dst_overlap: WhenRepeated = WhenRepeated.ONCE
    missed: Missed = Missed.LATEST
    missed_window: timedelta = timedelta(days=1)
    overlap: Overlap | None = None
    payload: Json = None
    template: str | None = None
    enabled: bool = True

    def definition(self, job_type: str) -> Schedule:
        """The schedule that a deployment makes of it. A type's own schedule has the type's name."""
        recurrence = (
            Every(self.rate)
            if self.rate is not None
            else Cron(self.cron or "", self.timezone, self.on_dst_gap, self.on_dst_overlap)
        )
        return Schedule(
            name=job_type,
            job_type=job_type,
            payload_text=encode_payload({} if self.payload is None else self.payload),
            recurrence=recurrence,
            enabled=self.enabled,
            missed=self.missed,
            missed_window=self.missed_window,
            overlap=self.overlap or default_overlap(self.missed),
            template=self.template,
        )


def read_schedule(schedule: Section) -> JobSchedule:
    if schedule.has("rate") == schedule.has("cron"):
        schedule.note(
            "", "a schedule has either a rate or a cron", 'Write rate = "30 minutes", or cron = "0 9 * * 1-5".'
        )
    for key in ("timezone", "on_dst_gap", "on_dst_overlap"):
        if schedule.has(key) and not schedule.has("cron"):
            schedule.note(key, "a rate is the same in every timezone", "Leave it out, or use cron.")
    read = JobSchedule(
        rate=schedule.read("rate", _rate, None),
        cron=schedule.read("cron", _cron, None),
        timezone=schedule.read("timezone", _timezone, "UTC"),
        on_dst_gap=schedule.read("on_dst_gap", choice(_choices(InTheGap)), InTheGap.ONCE),
        on_dst_overlap=schedule.read("on_dst_overlap", choice(_choices(WhenRepeated)), WhenRepeated.ONCE),
        missed=schedule.read("missed", choice(_choices(Missed)), Missed.LATEST),
        missed_window=schedule.read("missed_window", _WINDOW, timedelta(days=1)),
        overlap=schedule.read("overlap", choice(_choices(Overlap)), None),
        payload=schedule.read("payload", _payload, None),
        template=schedule.read("template", _template, None),
        enabled=schedule.read("enabled", flag, True),
    )
    if read.cron is not None:
        try:
            check_slots(Cron(read.cron, read.timezone, read.on_dst_gap, read.on_dst_overlap))
        except InvalidInputError as error:
            schedule.note("cron", error.reason, error.fix)
    schedule.close("[schedule]")
    return read


def _choices[Choice: StrEnum](kind: type[Choice]) -> dict[str, Choice]:
    return {str(each): each for each in kind}


def _rate(value: object) -> timedelta:
    found = _RATE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise Unfit("a rate is a number of minutes, hours, days or weeks", 'Use text like "30 minutes".')
    return int(found[1]) * timedelta(**{f"{found[2]}s": 1})


def _cron(value: object) -> str:
    fields = text(value).split()
    if len(fields) != len(_CRON):
        raise Unfit(
            f"a cron line has 5 fields, this one has {len(fields)}",
            'Write minute, hour, day of month, month, day of week: "0 9 * * 1-5".',
        )
    for given, (name, least, most, words) in zip(fields, _CRON, strict=True):
        for part in given.split(","):
            if not _is_cron_part(part, least, most, words):
                raise Unfit(f"{part!r} is no {name}", f"Use *, or numbers from {least} to {most}, as in 1-5 or */2.")
    line = " ".join(fields)
    try:
        Cron(line)
    except InvalidInputError as error:
        raise Unfit(error.reason, error.fix) from None
    return line


def _is_cron_part(part: str, least: int, most: int, words: list[str]) -> bool:
    found = _STEP.fullmatch(part.lower())
    if found is None:
        return False
    if found["first"] == "*":
        return found["last"] is None
    ends = [each for each in (found["first"], found["last"]) if each is not None]
    numbers = [words.index(end) + least if end in words else int(end) if end.isdecimal() else -1 for end in ends]
    return all(least <= number <= most for number in numbers) and numbers == sorted(numbers)


def _timezone(value: object) -> str:
    name = text(value)
    try:
        return ZoneInfo(name).key
    except (
        KeyError,
        OSError,
        ValueError,
    ):  # no zone of that name; a name that is no file; a name that leaves the folder
        close = get_close_matches(name, sorted(available_timezones()), n=1)
        fix = f"Did you mean {close[0]}?" if close else "Use an IANA name like Europe/Berlin."
        raise Unfit("there is no such timezone", fix) from None


def _template(value: object) -> str:
    """Only its name: what it says is in the table, and is looked up when a slot comes."""
    try:
        return parse_template_name(value)
    except InvalidInputError as error:
        raise Unfit(error.reason, error.fix) from None


def _payload(value: object) -> Json:
    if not isinstance(value, dict):
        raise Unfit("a payload is a table", "Write it below a header of its own: [schedule.payload].")
    try:
        encode_payload(value)
    except InvalidInputError as error:
        raise Unfit(error.reason, error.fix) from None
    return value
