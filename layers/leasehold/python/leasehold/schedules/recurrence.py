"""When a recurring job is planned: rates, and cron lines in a timezone, with a say in what a clock change means.

A slot is a planned moment in UTC. The same expression gives the same slots whoever asks and whenever.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count, takewhile
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from leasehold.kernel.errors import InvalidOptionError
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator


# A Monday at midnight: rates count from here, so that hours, days and weeks begin where people expect them to.
ANCHOR = datetime(1970, 1, 5, tzinfo=UTC)
_DAY = timedelta(days=1)
# The rarest that people mean, a 29th of February on a Sunday, comes every 40 years at most.
HORIZON = timedelta(days=50 * 366)


class InTheGap(StrEnum):
    """What to do at a local time that a clock change leaves out."""

    ONCE = "once"  # run at the first moment after the gap
    SKIP = "skip"


class WhenRepeated(StrEnum):
    """What to do at a local time that a clock change brings twice."""

    ONCE = "once"  # the first time
    BOTH = "both"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Every:
    """A fixed interval: every 30 minutes, hourly, daily, weekly. Counted in UTC, so no clock change touches it."""

    interval: timedelta

    def __post_init__(self) -> None:
        if self.interval < timedelta(minutes=1) or self.interval % timedelta(minutes=1):
            raise InvalidOptionError(self.interval, "a rate is a number of whole minutes", "Use 1 minute or more.")


@dataclass(frozen=True, slots=True)
class Cron:
    """Five fields: minute, hour, day of month, month, day of week."""

    line: str
    timezone: str = "UTC"
    on_dst_gap: InTheGap = InTheGap.ONCE
    on_dst_overlap: WhenRepeated = WhenRepeated.ONCE

    def __post_init__(self) -> None:
        _check(self.line, self.timezone)


# A schedule is read again at each of its slots, and its line says the same as before.
@lru_cache(maxsize=256)
def _check(line: object, timezone: str) -> None:
    from cronsim import CronSim, CronSimError

    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError, TypeError):
        from difflib import get_close_matches

        close = get_close_matches(str(timezone), sorted(available_timezones()), n=1)
        fix = f"Did you mean {close[0]}?" if close else "Use an IANA name like Europe/Berlin."
        raise InvalidOptionError(timezone, "there is no such timezone", fix) from None
    fix = 'Write minute, hour, day of month, month, day of week: "0 9 * * 1-5".'
    if not isinstance(line, str) or len(line.split()) != 5:
        raise InvalidOptionError(line, "a cron line has five fields", fix)
    try:
        next(CronSim(line, datetime(2026, 1, 1)))  # noqa: DTZ001  cron lines mean local time
    except (CronSimError, StopIteration) as error:
        raise InvalidOptionError(line, f"this cron line never comes due ({error})", fix) from None


type Recurrence = Every | Cron


@lru_cache(maxsize=256)
def check_slots(recurrence: Recurrence) -> None:
    """Refuse what never comes due: a cron line can name only moments that a clock change leaves out."""
    if isinstance(recurrence, Cron) and next(slots_after(recurrence, datetime(2026, 1, 1, tzinfo=UTC)), None) is None:
        problem = f"this never comes due in {recurrence.timezone}: all of it is left out at clock changes"
        fix = "Use another hour, or run at the end of the gap, and the first time of what comes twice."
        raise InvalidOptionError(recurrence.line, problem, fix)


def slots_after(recurrence: Recurrence, after: datetime) -> Iterator[datetime]:
    """The planned moments that come after a moment, in order; without end, or until none comes within 50 years.

    >>> nine = Cron("0 9 * * 1-5", "Europe/Berlin")
    >>> next(slots_after(nine, datetime(2026, 11, 13, 12, tzinfo=UTC))).isoformat()
    '2026-11-16T08:00:00+00:00'
    """
    if isinstance(recurrence, Cron):
        return _cron_slots(recurrence, after)
    first = (after - ANCHOR) // recurrence.interval + 1
    return (ANCHOR + number * recurrence.interval for number in count(first))


def slots_between(recurrence: Recurrence, after: datetime, until: datetime) -> Iterator[datetime]:
    """Slots later than `after`, up to and including `until`."""
    return takewhile(lambda slot: slot <= until, slots_after(recurrence, after))


def latest_slot(recurrence: Recurrence, after: datetime, until: datetime) -> datetime | None:
    """The last slot in a stretch of time, found without walking through all of it."""
    look_back = timedelta(hours=1)
    while True:
        start = max(after, until - look_back)
        latest = max(slots_between(recurrence, start, until), default=None)
        if latest is not None or start == after:
            return latest
        look_back *= 8


def _cron_slots(cron: Cron, after: datetime) -> Iterator[datetime]:
    from cronsim import CronSim

    zone = ZoneInfo(cron.timezone)
    last = after
    # Second readings of a repeated hour wait here until the first readings have caught up with them.
    waiting: list[datetime] = []
    for local in CronSim(cron.line, _local_start(after, zone)):
        if local - last.replace(tzinfo=None) > HORIZON:
            return
        moments = _moments(local, zone, cron)
        for moment in moments:
            heappush(waiting, moment)
        while moments and waiting and waiting[0] <= moments[0]:
            moment = heappop(waiting)
            if moment > last:
                yield moment
                last = moment


def _local_start(after: datetime, zone: ZoneInfo) -> datetime:
    """Where to begin to look: earlier than now by as much as the clocks are about to be set back."""
    here, soon = after.astimezone(zone), (after + _DAY).astimezone(zone)
    set_back = (here.utcoffset() or timedelta(0)) - (soon.utcoffset() or timedelta(0))
    return here.replace(tzinfo=None) - max(set_back, timedelta(0))


def _moments(local: datetime, zone: ZoneInfo, cron: Cron) -> list[datetime]:
    """The moments in UTC that a local time stands for: one, none or two."""
    first, second = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first == second:
        return [first]
    if first.astimezone(zone).replace(tzinfo=None) != local:
        return [] if cron.on_dst_gap is InTheGap.SKIP else [_end_of_gap(second, first, zone)]
    readings = {WhenRepeated.ONCE: [first], WhenRepeated.BOTH: [first, second], WhenRepeated.SKIP: []}
    return readings[cron.on_dst_overlap]


def _end_of_gap(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The moment of the clock change, found between the two readings of a time that does not exist."""
    offset_before, second = before.astimezone(zone).utcoffset(), timedelta(seconds=1)

    def is_over(seconds: int) -> bool:
        return (before + seconds * second).astimezone(zone).utcoffset() != offset_before

    return before + bisect_left(range((after - before) // second), True, key=is_over) * second


_UNITS = {"week": timedelta(weeks=1), "day": _DAY, "hour": timedelta(hours=1), "minute": timedelta(minutes=1)}


def explain(recurrence: Recurrence) -> str:
    """A rate or a cron line in words, for people.

    >>> explain(Cron("30 9 * * 1-5"))
    'at 09:30 on Monday through Friday'
    >>> explain(Every(timedelta(hours=2)))
    'every 2 hours'
    """
    if isinstance(recurrence, Every):
        unit = next(each for each, length in _UNITS.items() if not recurrence.interval % length)
        number = recurrence.interval // _UNITS[unit]
        return f"every {unit}" if number == 1 else f"every {number} {unit}s"
    from cronsim import CronSim

    words = CronSim(recurrence.line, datetime(2026, 1, 1)).explain()  # noqa: DTZ001  cron lines mean local time
    return words[0].lower() + words[1:]


MAX_LENGTH = 256
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
# As CronSim calls them.
_FIELDS = ("minutes", "hours", "days", "months", "weekdays")


def expression_of(recurrence: Recurrence) -> tuple[str, str] | None:
    """The expression and its timezone; None where EventBridge cannot say it, and the tick alone wakes.

    >>> expression_of(Cron("30 2 * * 1-5", "Europe/Berlin"))
    ('cron(30 2 ? * MON,TUE,WED,THU,FRI *)', 'Europe/Berlin')
    >>> expression_of(Every(timedelta(minutes=30)))
    ('cron(0,30 * * * ? *)', 'UTC')
    """
    if isinstance(recurrence, Every):
        line, timezone = _line_of(recurrence.interval), "UTC"
    else:
        line, timezone = recurrence.line, recurrence.timezone
    expression = _cron(line) if line else None
    return (expression, timezone) if expression else None


def _line_of(interval: timedelta) -> str | None:
    """A rate as a cron line: EventBridge counts its own rates from when it was told, not from where ours begin."""
    minutes = interval // timedelta(minutes=1)
    if 60 % minutes == 0:
        return f"*/{minutes} * * * *"
    if minutes % 60 == 0 and 24 % (minutes // 60) == 0:
        return f"0 */{minutes // 60} * * *"
    return "0 0 * * 1" if interval == _UNITS["week"] else None


def _cron(line: str) -> str | None:
    """Steps and ranges are written out: both speak of single values in the same way."""
    said: list[str] = []
    for field, numbers in zip(line.split(), values_of_field(line), strict=True):
        if numbers is None:
            return None
        said.append("*" if field == "*" else ",".join(map(str, numbers)))
    minute, hour, day, month, weekday = said
    if weekday == "*":
        weekday = "?"
    elif day == "*":
        # By name: cron counts days from 0 for Sunday, EventBridge from 1.
        day, weekday = "?", ",".join(dict.fromkeys(_WEEKDAYS[int(number)] for number in weekday.split(",")))
    else:
        return None  # cron means either of them; EventBridge takes only one
    expression = f"cron({minute} {hour} {day} {month} {weekday} *)"
    return expression if len(expression) <= MAX_LENGTH else None


def values_of_field(line: str) -> list[list[int] | None]:
    """The values that each field of a cron line stands for; None for what is more than values, such as L or 1#2."""
    return [_values(position, field) for position, field in enumerate(line.split())]


def _values(position: int, field: str) -> list[int] | None:
    from cronsim import CronSim, CronSimError

    alone = ["*"] * 5
    alone[position] = field
    try:
        found = getattr(CronSim(" ".join(alone), datetime(2026, 1, 1)), _FIELDS[position])  # noqa: DTZ001  only parsed
    except (AssertionError, CronSimError, ValueError):
        return None
    # The last of a month is below zero, the last or the nth of a weekday a pair.
    return sorted(found) if all(isinstance(each, int) and each >= 0 for each in found) else None
