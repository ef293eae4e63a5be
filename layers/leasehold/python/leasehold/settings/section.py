"""A table of a settings file that notes every problem instead of stopping at the first."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from leasehold.domain.errors import InvalidInputError
from leasehold.domain.folder_problem import FolderProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


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
