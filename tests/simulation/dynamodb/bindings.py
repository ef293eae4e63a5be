"""The names and values that come with a request, checked against the expressions that use them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.simulation.dynamodb.refusal import invalid
from tests.simulation.dynamodb.values import checked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.simulation.dynamodb.paths import Names
    from tests.simulation.dynamodb.values import Value

_EXPRESSIONS = (
    "ConditionExpression",
    "UpdateExpression",
    "KeyConditionExpression",
    "FilterExpression",
    "ProjectionExpression",
)


class Bound(NamedTuple):
    names: Names
    values: Mapping[str, Value]


NOTHING = Bound({}, {})


def bind(request: Mapping[str, Any]) -> Bound:
    """Every placeholder that is used must be given, and every one that is given must be used."""
    names: dict[str, str] = request.get("ExpressionAttributeNames", {})
    values: dict[str, Any] = request.get("ExpressionAttributeValues", {})
    texts = {each: request[each] for each in _EXPRESSIONS if request.get(each) is not None}
    if not texts:
        for each in ("Names", "Values"):
            if f"ExpressionAttribute{each}" in request:
                raise invalid(f"ExpressionAttribute{each} can only be specified when using expressions")
        return NOTHING
    for each in ("Names", "Values"):
        if request.get(f"ExpressionAttribute{each}") == {}:
            raise invalid(f"ExpressionAttribute{each} must not be empty")
    used: set[str] = set()
    for what, text in texts.items():
        placeholders = _placeholders(text)
        used |= placeholders
        for each in placeholders:
            if each not in names and each not in values:
                kind = "name used in the document path" if each[0] == "#" else "value used in expression"
                raise invalid(f"Invalid {what}: An expression attribute {kind} is not defined; {each}")
    _refuse_unused(names, used, "Names")
    _refuse_unused(values, used, "Values")
    return Bound(names, {placeholder: checked(value) for placeholder, value in values.items()})


def _refuse_unused(given: Mapping[str, Any], used: set[str], what: str) -> None:
    unused = given.keys() - used
    if unused:
        raise invalid(
            f"Value provided in ExpressionAttribute{what} unused in expressions: keys: {{{', '.join(sorted(unused))}}}"
        )


@lru_cache(maxsize=4096)
def _placeholders(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[#:][A-Za-z0-9_]+", text))
