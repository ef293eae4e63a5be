"""A rate or a cron line in words, for people."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from leasehold.schedules.recurrence import Cron, Every, values_of_field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.schedules.recurrence import Recurrence

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_UNITS = (("week", timedelta(weeks=1)), ("day", timedelta(days=1)), ("hour", timedelta(hours=1)))
# So many times of day are named one by one.
_MOST_TIMES = 4


def explain(recurrence: Recurrence) -> str:
    """
    >>> explain(Cron("30 9 * * 1-5"))
    'at 09:30, Monday to Friday'
    >>> explain(Cron("*/15 9-17 1,15 * *"))
    'every 15 minutes from 09:00 to 17:59, on days 1 and 15 of the month'
    >>> explain(Every(timedelta(hours=2)))
    'every 2 hours'
    """
    match recurrence:
        case Every(interval):
            unit, length = next((each for each in _UNITS if interval % each[1] == timedelta(0)), ("minute", _MINUTE))
            return _every(interval // length, unit)
        case Cron(line):
            return _cron_in_words(line)
        case _:
            assert_never(recurrence)


_MINUTE = timedelta(minutes=1)


def _cron_in_words(line: str) -> str:
    minute, hour, day, month, weekday = values_of_field(line)
    if minute is None or hour is None or month is None:
        return f"as the cron line {line} says"
    days = _days(line, day, weekday)
    if days is None:
        return f"as the cron line {line} says"
    months = "" if len(month) == 12 else f"in {_listed([_MONTHS[each - 1] for each in month], month)}"
    times = _times(minute, hour)
    everyday = "every day" if times.startswith("at ") else ""
    return ", ".join(each for each in (times, days or everyday, months) if each)


def _times(minutes: list[int], hours: list[int]) -> str:
    if len(minutes) * len(hours) <= _MOST_TIMES:
        return f"at {_and([f'{hour:02d}:{minute:02d}' for hour in hours for minute in minutes])}"
    step = _step(minutes, 60)
    if len(minutes) == 1:
        return _hourly(minutes[0], hours)
    said = _every(step, "minute") if step else f"at minutes {_and([str(each) for each in minutes])} of the hour"
    if len(hours) == 24:
        return said
    if _is_run(hours):
        return f"{said} from {hours[0]:02d}:00 to {hours[-1]:02d}:59"
    return f"{said} in the hours {_and([str(each) for each in hours])}"


def _hourly(minute: int, hours: list[int]) -> str:
    if step := _step(hours, 24):
        past = "on the hour" if minute == 0 else f"at minute {minute}"
        return f"{_every(step, 'hour')}, {past}"
    if _is_run(hours):
        return f"every hour from {hours[0]:02d}:{minute:02d} to {hours[-1]:02d}:{minute:02d}"
    return f"at {_and([f'{hour:02d}:{minute:02d}' for hour in hours])}"


def _days(line: str, days: list[int] | None, weekdays: list[int] | None) -> str | None:
    """Nothing for every day; None for what has no words. Both fields mean either, unless one begins with a star."""
    _, _, day_field, _, weekday_field = line.split()
    if days is None and day_field.upper() != "L":
        return None
    if weekdays is None:
        return None
    if days is None:
        of_month = "on the last day of the month"
    else:
        numbers = [str(each) for each in days]
        of_month = f"on {'day' if len(days) == 1 else 'days'} {_listed(numbers, days)} of the month"
    # Weeks begin on Monday here, and on Sunday in cron lines.
    numbered = sorted({(each - 1) % 7 for each in weekdays})
    of_week = _listed([_WEEKDAYS[each] for each in numbered], numbered)
    is_any_day, is_any_weekday = days is not None and len(days) == 31, len(numbered) == 7
    if is_any_day and is_any_weekday:
        return ""
    if is_any_day or is_any_weekday:
        return of_week if is_any_day else of_month
    is_both = "*" in (day_field[0], weekday_field[0])
    return f"{of_month} {'if that is' if is_both else 'and on every'} {of_week}"


def _listed(names: list[str], numbers: Sequence[int]) -> str:
    """Three or more in a row as a range."""
    if len(numbers) > 2 and _is_run(numbers):
        return f"{names[0]} to {names[-1]}"
    return _and(names)


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is_run(numbers: Sequence[int]) -> bool:
    return len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1


def _step(numbers: list[int], whole: int) -> int | None:
    """The step of values that begin at 0 and divide the whole evenly."""
    step = whole // len(numbers)
    return step if numbers == list(range(0, whole, step)) and step * len(numbers) == whole else None


def _every(number: int, unit: str) -> str:
    return f"every {unit}" if number == 1 else f"every {number} {unit}s"
