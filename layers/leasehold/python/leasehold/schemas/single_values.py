"""Whether a text, a number or another single value of a payload fits the shape of its model."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.schemas.shape import Shape

_MOST_NAMED = 5
_COMPARED = {
    "gt": ("is not more than", lambda value, bound: value > bound),
    "ge": ("is less than", lambda value, bound: value >= bound),
    "lt": ("is not less than", lambda value, bound: value < bound),
    "le": ("is more than", lambda value, bound: value <= bound),
}


@dataclass(frozen=True, slots=True)
class Misfit:
    path: str
    value: object
    reason: str


def misfits_of_single(value: Any, shape: Shape, path: str) -> Iterator[Misfit]:
    match shape["is"]:
        case "str":
            yield from _text(value, shape, path)
        case "int" | "float":
            yield from _number(value, shape, path)
        case "scalar" if value is None or isinstance(value, list | dict):
            yield Misfit(path, value, "is no single value")
        case "none" if value is not None:
            yield Misfit(path, value, "is not null")
        case "one of" if not isinstance(value, str) or value not in shape["values"]:
            yield Misfit(path, value, f"is none of {', '.join(map(repr, shape['values'][:_MOST_NAMED]))}")


def _text(value: str, shape: Shape, path: str) -> Iterator[Misfit]:
    if not shape.get("min", 0) <= len(value) <= shape.get("max", len(value)):
        yield Misfit(path, value, f"has {len(value)} characters; {_between(shape)}")
    elif "pattern" in shape and not _matches(shape["pattern"], value):
        yield Misfit(path, value, f"does not match {shape['pattern']}")


def _between(shape: Shape) -> str:
    return f"{shape.get('min', 0)} are the least" + (f" and {shape['max']} the most" if "max" in shape else "")


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return True


def _number(value: object, shape: Shape, path: str) -> Iterator[Misfit]:
    if isinstance(value, str):
        # pydantic reads numbers in texts; one without a digit is none, besides infinity and what is not a number.
        has_digit = any(each.isnumeric() for each in value)
        if not has_digit and (shape["is"] == "int" or not re.search("inf|nan", value, re.IGNORECASE)):
            yield Misfit(path, value, "is no number")
    elif value is None or isinstance(value, list | dict):
        yield Misfit(path, value, "is no number")
    elif isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        for name, (reason, holds) in _COMPARED.items():
            bound = shape.get(name)
            if bound is not None and not cast("Any", holds)(value, bound):
                yield Misfit(path, value, f"{reason} {bound}")
