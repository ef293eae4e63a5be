"""Key conditions: one partition, and a stretch of its order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.simulation.dynamodb.conditions import Attribute, BeginsWith, Between, Both, Compare, Given
from tests.simulation.dynamodb.parsing import parse_condition
from tests.simulation.dynamodb.refusal import invalid, invalid_parameters
from tests.simulation.dynamodb.values import comparable, kind_of

if TYPE_CHECKING:
    from tests.simulation.dynamodb.bindings import Bound
    from tests.simulation.dynamodb.conditions import Condition, Operand
    from tests.simulation.dynamodb.schema import KeySchema
    from tests.simulation.dynamodb.shelf import Position

_SORT = itemgetter(0)
_FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Range(NamedTuple):
    partition: Any
    sign: str | None = None
    first: Any = None
    last: Any = None

    def within(self, order: list[Position]) -> tuple[int, int]:
        """From where to where in a partition's order."""
        end = len(order)
        match self.sign:
            case None:
                return 0, end
            case "=":
                return bisect_left(order, self.first, key=_SORT), bisect_right(order, self.first, key=_SORT)
            case "<":
                return 0, bisect_left(order, self.first, key=_SORT)
            case "<=":
                return 0, bisect_right(order, self.first, key=_SORT)
            case ">":
                return bisect_right(order, self.first, key=_SORT), end
            case ">=":
                return bisect_left(order, self.first, key=_SORT), end
            case "BETWEEN":
                return bisect_left(order, self.first, key=_SORT), bisect_right(order, self.last, key=_SORT)
            case _:
                start = bisect_left(order, self.first, key=_SORT)
                return start, bisect_left(order, True, lo=start, key=lambda at: not at[0].startswith(self.first))


def key_range(text: str | None, bound: Bound, key: KeySchema) -> Range:
    if text is None:
        raise invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
    partition: Any = None
    sort: tuple[str, Any, Any] | None = None
    for condition in _services(parse_condition(text, "KeyConditionExpression")):
        name, sign, values = _part(condition, bound)
        if name not in key.names:
            raise invalid(f"Query condition missed key schema element: {key.partition}")
        held = [_key_value(name, sign, operand, bound, key) for operand in values]
        if name == key.partition:
            if sign != "=":
                raise invalid("Query key condition not supported")
            if partition is not None:
                raise _one_condition_only()
            partition = held[0]
        else:
            if sort is not None:
                raise _one_condition_only()
            sort = sign, held[0], held[-1]
    if partition is None:
        raise invalid(f"Query condition missed key schema element: {key.partition}")
    if sort is not None and sort[0] == "BETWEEN" and sort[1] > sort[2]:
        raise invalid(
            "Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal to "
            "lower bound"
        )
    return Range(partition, *sort) if sort else Range(partition)


def _one_condition_only() -> Exception:
    return invalid("Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key")


def _services(condition: Condition) -> list[Condition]:
    if isinstance(condition, Both):
        return [*_services(condition.left), *_services(condition.right)]
    return [condition]


def _part(condition: Condition, bound: Bound) -> tuple[str, str, tuple[Operand, ...]]:
    """The name of the key attribute, the sign, and what it is compared with."""
    match condition:
        case Compare(Attribute(path), sign, value) if sign in _FLIPPED:
            return str(path.resolved(bound.names)[0]), sign, (value,)
        case Compare(value, sign, Attribute(path)) if sign in _FLIPPED:
            return str(path.resolved(bound.names)[0]), _FLIPPED[sign], (value,)
        case Between(Attribute(path), first, last):
            return str(path.resolved(bound.names)[0]), "BETWEEN", (first, last)
        case BeginsWith(Attribute(path), prefix):
            return str(path.resolved(bound.names)[0]), "begins_with", (prefix,)
        case _:
            raise invalid("Invalid operator used in KeyConditionExpression")


def _key_value(name: str, sign: str, operand: Operand, bound: Bound, key: KeySchema) -> Any:
    if not isinstance(operand, Given):
        raise invalid("Invalid condition in KeyConditionExpression: a key must be compared with a value")
    value = bound.values[operand.placeholder]
    if kind_of(value) != key.kinds[name]:
        raise invalid_parameters("Condition parameter type does not match schema type")
    if not next(iter(value.values())) and sign != "begins_with":
        raise invalid(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            f"empty string value. Key: {name}"
        )
    return comparable(value)
