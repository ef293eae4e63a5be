"""Whether a text, a number or another single value of a payload fits the shape of its model."""

from __future__ import annotations

import re
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.schemas.shape import Shape

_MOST_NAMED = 5
_COMPARED = {
    "gt": ("is not more than", gt),
    "ge": ("is less than", ge),
    "lt": ("is not less than", lt),
    "le": ("is more than", le),
}


def faults_of_single(value: Any, shape: Shape) -> Iterator[str]:
    """What keeps a value from fitting, in words."""
    match shape["is"]:
        case "str":
            least, most = shape.get("min", 0), shape.get("max", len(value))
            if not least <= len(value) <= most:
                bounds = f"{least} are the least" + (f" and {most} the most" if "max" in shape else "")
                yield f"has {len(value)} characters; {bounds}"
            elif "pattern" in shape and not _matches(shape["pattern"], value):
                yield f"does not match {shape['pattern']}"
        case "int" | "float":
            yield from _faults_of_number(value, shape)
        case "scalar" if value is None or isinstance(value, list | dict):
            yield "is no single value"
        case "none" if value is not None:
            yield "is not null"
        case "one of" if not isinstance(value, str) or value not in shape["values"]:
            yield f"is none of {', '.join(map(repr, shape['values'][:_MOST_NAMED]))}"


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return True


def _faults_of_number(value: object, shape: Shape) -> Iterator[str]:
    if isinstance(value, str):
        # pydantic reads numbers in texts; one without a digit is none, besides infinity and what is not a number.
        has_digit = any(each.isnumeric() for each in value)
        if not has_digit and (shape["is"] == "int" or not re.search("inf|nan", value, re.IGNORECASE)):
            yield "is no number"
    elif value is None or isinstance(value, list | dict):
        yield "is no number"
    elif isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        for name, (reason, holds) in _COMPARED.items():
            bound = shape.get(name)
            if bound is not None and not holds(value, bound):
                yield f"{reason} {bound}"
