"""Conditions of writes, as data. Every store interprets the same values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Seen:
    """Stands for what the writer saw before it wrote; bound to a value when the write is made."""

    name: str


@dataclass(frozen=True, slots=True)
class Exists:
    attribute: str


@dataclass(frozen=True, slots=True)
class Missing:
    attribute: str


@dataclass(frozen=True, slots=True)
class Equals:
    attribute: str
    value: object


@dataclass(frozen=True, slots=True)
class OneOf:
    attribute: str
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class After:
    """The attribute, a time, is later than the value."""

    attribute: str
    value: object


@dataclass(frozen=True, slots=True)
class NotAfter:
    attribute: str
    value: object


@dataclass(frozen=True, slots=True)
class Above:
    """The attribute, a number, is greater than the value."""

    attribute: str
    value: int


@dataclass(frozen=True, slots=True)
class AnyOf:
    conditions: tuple[Condition, ...]


type Condition = Exists | Missing | Equals | OneOf | After | NotAfter | Above | AnyOf


def bind(condition: Condition, seen: Mapping[str, object]) -> Condition:
    """Put what the writer saw in the place of each `Seen`."""
    match condition:
        case Exists() | Missing() | OneOf() | Above():
            return condition
        case Equals(attribute, Seen(name)):
            return Equals(attribute, seen[name])
        case After(attribute, Seen(name)):
            return After(attribute, seen[name])
        case NotAfter(attribute, Seen(name)):
            return NotAfter(attribute, seen[name])
        case Equals() | After() | NotAfter():
            return condition
        case AnyOf(conditions):
            return AnyOf(tuple(bind(each, seen) for each in conditions))
        case _:
            assert_never(condition)
