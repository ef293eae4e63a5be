"""Recurrences in EventBridge Scheduler's words, where it has them. It only wakes: the table decides what runs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from leasehold.domain.recurrence import Cron, Every

if TYPE_CHECKING:
    from leasehold.domain.recurrence import Recurrence

MAX_LENGTH = 256
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_HOUR, _DAY, _WEEK = timedelta(hours=1), timedelta(days=1), timedelta(weeks=1)


def expression_of(recurrence: Recurrence) -> tuple[str, str] | None:
    """The expression and its timezone; None where EventBridge cannot say it, and the tick alone wakes.

    >>> expression_of(Cron("30 2 * * 1-5", "Europe/Berlin"))
    ('cron(30 2 ? * MON,TUE,WED,THU,FRI *)', 'Europe/Berlin')
    >>> expression_of(Every(timedelta(minutes=30)))
    ('cron(0,30 * * * ? *)', 'UTC')
    """
    match recurrence:
        case Every(interval):
            line = _line_of(interval)
            expression, timezone = (_cron(line) if line else None), "UTC"
        case Cron(line, timezone):
            expression = _cron(line)
        case _:
            assert_never(recurrence)
    return (expression, timezone) if expression else None


def _line_of(interval: timedelta) -> str | None:
    """A rate as a cron line: EventBridge counts its own rates from when it was told, not from where ours begin."""
    minutes = interval // timedelta(minutes=1)
    if interval <= _HOUR and _HOUR % interval == timedelta(0):
        return f"*/{minutes} * * * *" if interval < _HOUR else "0 * * * *"
    if interval <= _DAY and _DAY % interval == timedelta(0) and interval % _HOUR == timedelta(0):
        return f"0 */{minutes // 60} * * *" if interval < _DAY else "0 0 * * *"
    return "0 0 * * 1" if interval == _WEEK else None


def _cron(line: str) -> str | None:
    minute, hour, day, month, weekday = line.upper().split()
    if day != "*" and weekday != "*":
        return None  # cron means either of them; EventBridge takes only one
    fields = (
        _listed(minute, range(60)),
        _listed(hour, range(24)),
        _listed(day, range(1, 32)) if weekday == "*" else "?",
        _listed(month, range(1, 13), _MONTHS),
        "?" if weekday == "*" else _weekdays(weekday),
    )
    if None in fields:
        return None
    expression = f"cron({' '.join(map(str, fields))} *)"
    return expression if len(expression) <= MAX_LENGTH else None


def _weekdays(field: str) -> str | None:
    """Days by name: cron counts them from 0 for Sunday, EventBridge from 1."""
    numbers = _numbers(field, range(8), _WEEKDAYS[:7])
    if numbers is None:
        return None
    return ",".join(dict.fromkeys(_WEEKDAYS[number] for number in numbers))


def _listed(field: str, allowed: range, names: tuple[str, ...] = ()) -> str | None:
    """Steps and ranges written out: both speak of single values in the same way."""
    if field == "*":
        return "*"
    numbers = _numbers(field, allowed, names)
    return None if numbers is None else ",".join(map(str, numbers))


def _numbers(field: str, allowed: range, names: tuple[str, ...] = ()) -> list[int] | None:
    """The values that a field of a cron line stands for; None for what is more than values, such as L or 1#2."""
    found: set[int] = set()
    for part in field.split(","):
        term, _, step = part.partition("/")
        first, _, last = ("-".join(map(str, (allowed[0], allowed[-1]))) if term == "*" else term).partition("-")
        ends = [_number(end, allowed, names) for end in (first, last or first)]
        if None in ends or (step and not step.isdecimal()):
            return None
        low, high = (end for end in ends if end is not None)
        found.update(range(low, (allowed[-1] if step and not last else high) + 1, int(step or 1)))
    return sorted(found)


def _number(text: str, allowed: range, names: tuple[str, ...]) -> int | None:
    if text in names:
        return names.index(text) + allowed[0]
    return int(text) if text.isdecimal() and int(text) in allowed else None
