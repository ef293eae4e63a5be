"""A table of a settings file that notes every problem instead of stopping at the first."""

from __future__ import annotations

import json
import re
from datetime import date, time, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from leasehold.kernel.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Unfit(Exception):  # noqa: N818  becomes a problem of the file, never leaves this package
    """A value does not fit its key: why, and what to write instead."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix


class Section:
    """One table. A key is known once it was asked for; `close` reports the others.

    `path` leads to the table within the file, e.g. `permissions[0].`, and is empty for the file itself.
    """

    def __init__(self, file: str, values: Mapping[str, object], problems: list[FolderProblem], path: str = "") -> None:
        self._file = file
        self._values = values
        self._problems = problems
        self._path = path
        self._known: list[str] = []

    @property
    def is_sound(self) -> bool:
        """Whether nothing was wrong with the file so far."""
        return not self._problems

    def has(self, key: str) -> bool:
        return key in self._values

    def is_table(self, key: str) -> bool:
        return isinstance(self._values.get(key), dict)

    def read[T, D](self, key: str, parse: Callable[[object], T], default: D) -> T | D:
        """The key's value; the default where it is left out or does not fit."""
        self._known.append(key)
        if key not in self._values:
            return default
        try:
            return parse(self._values[key])
        except Unfit as unfit:
            self.note(key, unfit.reason, unfit.fix)
            return default

    def read_each[T](self, key: str, parse: Callable[[object], T], *, required: str = "") -> tuple[T, ...]:
        """The items of a list, each checked by itself; `required` says why it may not be left out or empty."""
        given = self.read(key, _a_list, None if self.has(key) else [])
        if given == [] and required:
            self.note(key if self.has(key) else "", required, f'Write {key} = ["…"].')
        by_place = {f"[{n}]": each for n, each in enumerate(given or [])}
        items = Section(self._file, by_place, self._problems, self._path + key)
        found = [items.read(place, parse, None) for place in by_place]
        return tuple(each for each in found if each is not None)

    def section(self, key: str) -> Section:
        """The table under this key; an empty one where it is left out."""
        return self.optional_section(key) or self._below(key, {})

    def optional_section(self, key: str) -> Section | None:
        table = self.read(key, _a_table, None)
        return None if table is None else self._below(key, table)

    def sections(self, key: str) -> list[Section]:
        """The tables of an array of tables."""
        tables = self.read(key, _tables, [])
        return [self._below(f"{key}[{n}]", table) for n, table in enumerate(tables)]

    def _below(self, key: str, values: Mapping[str, object]) -> Section:
        return Section(self._file, values, self._problems, f"{self._path}{key}.")

    def names(self) -> list[str]:
        return list(self._values)

    def build[T, D](self, make: Callable[[], T], default: D) -> T | D:
        """Make a value whose parts must fit each other, or note of the whole table why it cannot be made."""
        try:
            return make()
        except InvalidInputError as error:
            self.note("", error.reason, error.fix)
            return default

    def note(self, key: str, reason: str, fix: str) -> None:
        """Note a problem of `key`, or of the whole table if it is empty."""
        place = self._path + key if key else self._path.removesuffix(".")
        value = self._values.get(key) if key else self._values
        self._problems.append(FolderProblem(self._file, place, value, reason, fix))

    def close(self, called: str) -> None:
        """Report every key that nobody asked for."""
        for key in self._values:
            if key not in self._known:
                self.note(key, f"{called} has no such key", meant(key, self._known, "Its keys are"))


def meant(given: str, known: list[str], otherwise: str) -> str:
    """
    >>> meant("timout", ["memory", "timeout"], "Its keys are")
    'Did you mean timeout?'
    >>> meant("colour", ["memory", "timeout"], "Its keys are")
    'Its keys are memory, timeout.'
    """
    close = get_close_matches(given, known, n=1)
    return f"Did you mean {close[0]}?" if close else f"{otherwise} {', '.join(known)}."


def _a_table(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise Unfit("this is a table", "Write its keys below a header of its own, in [brackets].")
    return value


def _tables(value: object) -> list[dict[str, object]]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise Unfit("there may be several of these tables", "Write the header of each in [[double brackets]].")
    return value


def _a_list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise Unfit("this is a list", 'Put brackets around it: ["…", "…"].')
    return value


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


_SHOWN = 120


class FolderProblem(NamedTuple):
    """One problem of one file; `key` is empty where the whole file is meant.

    >>> print(FolderProblem("job.toml", "memory", 64, "a Lambda function has at least 128 MB", "Use 128 or more."))
    job.toml: memory = 64: a Lambda function has at least 128 MB. Use 128 or more.
    """

    file: str
    key: str
    value: object
    reason: str
    fix: str

    def __str__(self) -> str:
        place = f"{self.file}: {self.key} = {_shown(self.value)}" if self.key else self.file
        return f"{place}: {self.reason}. {self.fix}"


def toml_text(value: object) -> str:
    """A value as it stands in a TOML file, so that a reader can search for it.

    >>> toml_text({"rate": "30 minutes", "enabled": True})
    '{ rate = "30 minutes", enabled = true }'
    """
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case bool():
            return "true" if value else "false"
        case dict():
            return f"{{ {', '.join(f'{key} = {toml_text(item)}' for key, item in value.items())} }}" if value else "{}"
        case list():
            return f"[{', '.join(toml_text(item) for item in value)}]"
        case date() | time():  # a datetime is a date
            return value.isoformat()
        case _:
            return str(value)


def _shown(value: object) -> str:
    text = toml_text(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class InvalidJobFolderError(InvalidInputError):
    """Folders in functions/jobs that cannot be deployed: every problem found, one a line."""

    code = "invalid_job_folder"

    def __init__(self, problems: Sequence[FolderProblem]) -> None:
        first = problems[0]
        super().__init__(first.value, first.reason, first.fix)
        self.problems = tuple(problems)
        self.args = ("\n".join(str(problem) for problem in problems),)
