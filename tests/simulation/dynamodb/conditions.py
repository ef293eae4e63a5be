"""Conditions as trees that can be asked whether they hold of an item, for expressions and for PartiQL."""

from __future__ import annotations

import operator
from base64 import b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tests.simulation.dynamodb.refusal import invalid
from tests.simulation.dynamodb.values import comparable, kind_of, size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.simulation.dynamodb.paths import Names, Path
    from tests.simulation.dynamodb.values import Item, Value

type Values = Mapping[str, Value]

_ORDERED = frozenset({"S", "N", "B"})
_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_TYPES = frozenset({"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"})


class Operand(Protocol):
    def read(self, item: Item, names: Names, values: Values) -> Value | None: ...


class Condition(Protocol):
    def holds(self, item: Item, names: Names, values: Values) -> bool: ...


@dataclass(frozen=True, slots=True)
class Attribute:
    path: Path

    def read(self, item: Item, names: Names, values: Values) -> Value | None:
        return self.path.read(item, names)


@dataclass(frozen=True, slots=True)
class Given:
    """A value that comes with the request."""

    placeholder: str

    def read(self, item: Item, names: Names, values: Values) -> Value | None:
        return values[self.placeholder]


@dataclass(frozen=True, slots=True)
class SizeOf:
    path: Path

    def read(self, item: Item, names: Names, values: Values) -> Value | None:
        value = self.path.read(item, names)
        if value is None:
            return None
        ((kind, held),) = value.items()
        match kind:
            case "S" | "B":
                return {"N": str(size(value))}
            case "L" | "M" | "SS" | "NS" | "BS":
                return {"N": str(len(held))}
            case _:
                return None


@dataclass(frozen=True, slots=True)
class Compare:
    left: Operand
    sign: str
    right: Operand

    def holds(self, item: Item, names: Names, values: Values) -> bool:
        left, right = self.left.read(item, names, values), self.right.read(item, names, values)
        if self.sign == "=":
            return left is not None and left == right
        if self.sign == "<>":
            return left != right
        for each, read in ((self.left, left), (self.right, right)):
            _must_be_ordered(each, read, self.sign)
        return _are_ordered(left, self.sign, right)


@dataclass(frozen=True, slots=True)
class Between:
    operand: Operand
    first: Operand
    last: Operand

    def holds(self, item: Item, names: Names, values: Values) -> bool:
        value, first, last = (each.read(item, names, values) for each in (self.operand, self.first, self.last))
        for each, read in ((self.first, first), (self.last, last)):
            _must_be_ordered(each, read, "BETWEEN")
        return _are_ordered(first, "<=", value) and _are_ordered(value, "<=", last)


@dataclass(frozen=True, slots=True)
class OneOf:
    operand: Operand
    choices: tuple[Operand, ...]

    def holds(self, item: Item, names: Names, values: Values) -> bool:
        value = self.operand.read(item, names, values)
        return value is not None and any(value == each.read(item, names, values) for each in self.choices)


@dataclass(frozen=True, slots=True)
class Exists:
    path: Path
    wanted: bool = True

    def holds(self, item: Item, names: Names, values: Values) -> bool:
        return (self.path.read(item, names) is not None) is self.wanted


@dataclass(frozen=True, slots=True)
class HasType:
    path: Path
    kind: Operand

    def holds(self, item: Item, names: Names, values: Values) -> bool:
        wanted = self.kind.read(item, names, values)
        if wanted is None or wanted.get("S") not in _TYPES:
            raise invalid("Invalid ConditionExpression: Invalid attribute type name found; type: attribute_type")
        value = self.path.read(item, names)
        return value is not None and kind_of(value) == wanted["S"]


@dataclass(frozen=True, slots=True)
class BeginsWith:
    operand: Operand
    prefix: Operand

    def holds(self, item: Item, names: Names, values: Values) -> bool:
        value, prefix = self.operand.read(item, names, values), self.prefix.read(item, names, values)
        if isinstance(self.prefix, Given) and prefix is not None and kind_of(prefix) not in {"S", "B"}:
            raise _wrong_operand("begins_with", kind_of(prefix))
        match value, prefix:
            case {"S": text}, {"S": start}:
                return bool(text.startswith(start))
            case {"B": text}, {"B": start}:
                return b64decode(text).startswith(b64decode(start))
            case _:
                return False


@dataclass(frozen=True, slots=True)
class Contains:
    path: Path
    part: Operand

    def holds(self, item: Item, names: Names, values: Values) -> bool:
        value, part = self.path.read(item, names), self.part.read(item, names, values)
        if value is None or part is None:
            return False
        match value, part:
            case {"S": text}, {"S": wanted}:
                return wanted in text
            case {"B": text}, {"B": wanted}:
                return b64decode(wanted) in b64decode(text)
            case {"L": members}, _:
                return part in members
            case ({"SS": members}, {"S": wanted}) | ({"NS": members}, {"N": wanted}) | ({"BS": members}, {"B": wanted}):
                return wanted in members
            case _:
                return False


@dataclass(frozen=True, slots=True)
class Both:
    left: Condition
    right: Condition

    def holds(self, item: Item, names: Names, values: Values) -> bool:
        return self.left.holds(item, names, values) and self.right.holds(item, names, values)


@dataclass(frozen=True, slots=True)
class Either:
    left: Condition
    right: Condition

    def holds(self, item: Item, names: Names, values: Values) -> bool:
        return self.left.holds(item, names, values) or self.right.holds(item, names, values)


@dataclass(frozen=True, slots=True)
class Not:
    condition: Condition

    def holds(self, item: Item, names: Names, values: Values) -> bool:
        return not self.condition.holds(item, names, values)


def _must_be_ordered(operand: Operand, value: Value | None, sign: str) -> None:
    """Values of the request are refused where they cannot be ordered; attributes are just not in order."""
    if isinstance(operand, Given) and value is not None and kind_of(value) not in _ORDERED:
        raise _wrong_operand(sign, kind_of(value))


def _wrong_operand(sign: str, kind: str) -> Exception:
    return invalid(
        "Invalid ConditionExpression: Incorrect operand type for operator or function; "
        f"operator or function: {sign}, operand type: {kind}"
    )


def _are_ordered(left: Value | None, sign: str, right: Value | None) -> bool:
    if left is None or right is None or kind_of(left) != kind_of(right) or kind_of(left) not in _ORDERED:
        return False
    in_order: Any = _ORDERS[sign](comparable(left), comparable(right))
    return bool(in_order)
