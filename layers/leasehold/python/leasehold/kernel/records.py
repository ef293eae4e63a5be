"""Records: what a table holds of a value. A dataclass's own fields say what is stored of it, under which name."""

from __future__ import annotations

from dataclasses import MISSING, fields
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from leasehold.kernel.keys import Due, from_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from leasehold.kernel.table import Attribute, Record


# Of values that stand in the record of another, as runs in that of their job.
PARTS: dict[type, Codec] = {}


def encode(value: object) -> Attribute:
    match value:
        case IntEnum() | StrEnum():
            return value.value
        case int() | str() | bytes():  # a truth value is an int
            return value
        case datetime():
            return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")  # as `to_text` does
        case Due():
            return value.key
        case tuple() | list():
            return [encode(each) for each in value]
        case _ if type(value) in PARTS:
            return PARTS[type(value)].record(value)
        case _:
            raise TypeError(f"a record cannot hold {value!r}")


def encode_all(values: Mapping[str, object]) -> Record:
    return {name: value if type(value) is str else encode(value) for name, value in values.items()}


class Kind(NamedTuple):
    """How a value is stored, and what makes it of what is stored and back."""

    stored: type
    read: Callable[[Any], object] | None = None
    write: Callable[[Any], Attribute] = encode


# By how fields are declared; `object` is looked at by whoever uses it.
_KINDS = {
    "str": Kind(str),
    "JobId": Kind(str),
    "datetime": Kind(str, from_text),
    "int": Kind(int),
    "bool": Kind(bool),
    "bytes": Kind(bytes),
    "tuple[str, ...]": Kind(object, tuple),
    "Form": Kind(object),
    "Due": Kind(str, Due.parse),
}
_WORDS = {str: "text", int: "whole number", list: "list", bool: "truth value", bytes: "binary"}


class Codec:
    """Between a dataclass and its record. What a field has by default is left out: every byte is billed."""

    def __init__(
        self,
        cls: type,
        kinds: Mapping[str, Kind],
        *,
        stored_as: Mapping[str, str] | None = None,
        without: Collection[str] = (),
        always: Collection[str] = (),
    ) -> None:
        """`kinds` of its own besides those that all have; `without` are fields that the caller sees to.

        always: what is written also where it is the default, and has to be there.
        """
        known, names = _KINDS | dict(kinds), stored_as or {}
        self._fields = [
            (
                each.name,
                names.get(each.name, each.name),
                MISSING if each.name in always else each.default,
                known[each.type.removesuffix(" | None")],
            )
            for each in fields(cls)
            if each.name not in without
        ]
        self._kinds = {stored: (name, kind) for name, stored, _, kind in self._fields}
        self._always = frozenset(names.get(name, name) for name in always)

    def record(self, value: object) -> Record:
        found = ((stored, getattr(value, name), default, kind) for name, stored, default, kind in self._fields)
        return {
            stored: field if type(field) is str else kind.write(field)
            for stored, field, default, kind in found
            if field is not default and field != default
        }

    def values(self, record: Record) -> dict[str, Any]:
        """By the names of fields; TypeError for one that is not what it has to be."""
        if absent := self._always - record.keys():
            raise KeyError(min(absent))
        values: dict[str, Any] = {}
        for stored, value in record.items():
            if stored in self._kinds:
                name, kind = self._kinds[stored]
                check(stored, value, kind.stored)
                values[name] = value if kind.read is None else kind.read(value)
        return values


def texts_in(record: Record, names: Iterable[str]) -> list[str]:
    """These attributes of a record, all of which it has to have."""
    for name in names:
        check(name, record[name], str)
    return [record[name] for name in names]  # type: ignore[misc]


def check(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} is no {_WORDS[kind]}")
