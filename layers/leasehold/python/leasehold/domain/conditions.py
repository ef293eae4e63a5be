"""Conditions of writes, as data. Every store interprets the same values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from leasehold.domain.lean import dataclass

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
            # Who saw that it was not there relies on that too.
            return Missing(attribute) if seen[name] is None else Equals(attribute, seen[name])
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


def holds(condition: Condition, record: Mapping[str, Any]) -> bool:
    """Whether a stored record fulfils a bound condition."""
    # Like DynamoDB, a comparison with an attribute that is not there is false.
    match condition:
        case Exists(attribute):
            return attribute in record
        case Missing(attribute):
            return attribute not in record
        case Equals(attribute, value):
            return attribute in record and _same(record[attribute], value)
        case OneOf(attribute, values):
            return attribute in record and any(_same(record[attribute], value) for value in values)
        case After(attribute, value):
            return attribute in record and bool(record[attribute] > value)
        case NotAfter(attribute, value):
            return attribute in record and bool(record[attribute] <= value)
        case Above(attribute, least):
            return attribute in record and bool(record[attribute] > least)
        case AnyOf(conditions):
            return any(holds(each, record) for each in conditions)
        case _:
            assert_never(condition)


def _same(stored: object, value: object) -> bool:
    """Equal as DynamoDB has it: to Python, True is 1 as well."""
    if isinstance(stored, list) and isinstance(value, list):
        return len(stored) == len(value) and all(map(_same, stored, value))
    if isinstance(stored, dict) and isinstance(value, dict):
        return stored.keys() == value.keys() and all(_same(stored[name], value[name]) for name in stored)
    return stored == value and isinstance(stored, bool) == isinstance(value, bool)


def narrowed(condition: Condition) -> Condition:
    """A condition without a choice that is enough for this one: of a choice, the first alternative."""
    while isinstance(condition, AnyOf):
        condition = condition.conditions[0]
    return condition
