"""Single values of a settings file: each function makes a check that gives the value back or says what is wrong."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.settings.section import Unfit, meant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_SECONDS_IN = {spelling: seconds for unit, seconds in _UNITS.items() for spelling in (unit[0], unit, f"{unit}s")}
_DURATION = re.compile(r"(\d{1,9}) ?([a-z]+)")


def text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Unfit("this is text", 'Write it in quotes: "…".')
    return value


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise Unfit("this is a yes or no", "Write true or false, without quotes.")
    return value


def share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Unfit("this is a number from 0 to 1", "Use 0.1 for up to ten per cent.")
    return float(value)


def whole_number(subject: str, unit: str, least: int, most: int | None = None) -> Callable[[object], int]:
    """`subject` starts the sentence of a refusal: `a Lambda function has` at least 128 MB."""

    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise Unfit("this is a whole number", f"Write it without quotes, e.g. {least}.")
        if value < least:
            raise Unfit(f"{subject} at least {least}{unit}", f"Use {least} or more.")
        if most is not None and value > most:
            raise Unfit(f"{subject} at most {most}{unit}", f"Use {most} or less.")
        return value

    return parse


def duration(
    subject: str, least: timedelta = timedelta(0), most: timedelta = timedelta(days=3660)
) -> Callable[[object], timedelta]:
    """Seconds as a number, or text like "90s", "15 minutes", "7d"; whole seconds either way."""

    def parse(value: object) -> timedelta:
        length = _length(value)
        if length < least:
            raise Unfit(f"{subject} at least {_plain(least)}", f"Use {_number(least)} or more.")
        if length > most:
            raise Unfit(f"{subject} at most {_plain(most)}", f"Use {_number(most)} or less.")
        return length

    return parse


def choice[T](options: dict[str, T]) -> Callable[[object], T]:
    names = list(options)

    def parse(value: object) -> T:
        if not isinstance(value, str) or value not in options:
            raise Unfit("there is no such choice", meant(str(value), names, "The choices are"))
        return options[value]

    return parse


def one_of(subject: str, allowed: Sequence[int]) -> Callable[[object], int]:
    """A number from a list that AWS keeps: a refusal names the next one up."""

    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise Unfit("this is a whole number", f"Write it without quotes, e.g. {allowed[0]}.")
        if value not in allowed:
            fitting = next((each for each in allowed if each > value), allowed[-1])
            raise Unfit(f"{subject} one of {', '.join(map(str, allowed))}", f"Use {fitting}.")
        return value

    return parse


def _length(value: object) -> timedelta:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return timedelta(seconds=value)
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[2] not in _SECONDS_IN:
        raise Unfit("this is a length of time", 'Use whole seconds, or text like "90s", "15m", "2h", "7d".')
    try:
        return int(found[1]) * timedelta(seconds=_SECONDS_IN[found[2]])
    except OverflowError:
        return timedelta.max


def _plain(length: timedelta) -> str:
    days, rest = divmod(length, timedelta(days=1))
    if days and not rest:
        return f"{days} day{'' if days == 1 else 's'}"
    seconds = int(length.total_seconds())
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def _number(length: timedelta) -> str:
    days, rest = divmod(length, timedelta(days=1))
    return f'"{days}d"' if days and not rest else str(int(length.total_seconds()))
