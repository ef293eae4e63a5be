"""Attribute values: their checked and canonical form, their size, and their order.

Values are what stands on DynamoDB's JSON wire: `{"S": text}`, `{"N": text}`, `{"B": base64 text}` and so on. Once
checked they are in canonical form (`{"N": "1.0"}` is `{"N": "1"}`, sets are sorted), so that equal values are equal
dictionaries. Checked values are shared and never changed in place.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from tests.simulation.dynamodb.refusal import Refusal, invalid, invalid_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping

type Value = dict[str, Any]
type Item = dict[str, Value]

_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,36}")
_LONGEST_NUMBER = 38
_HIGHEST_EXPONENT, _LOWEST_EXPONENT = 125, -130
_SETS = {"SS": "S", "NS": "N", "BS": "B"}
_DEEPEST = 32


def checked_item(item: Any) -> Item:
    if type(item) is not dict:
        raise Refusal("SerializationException", "Start of structure or map found where not expected")
    return {name: checked(value) for name, value in item.items()}


def checked(value: Any, depth: int = 0) -> Value:
    """The value in canonical form."""
    if type(value) is not dict or len(value) != 1:
        what = "is empty" if not value else "has more than one datatypes set"
        raise invalid(f"Supplied AttributeValue {what}, must contain exactly one of the supported datatypes")
    ((kind, held),) = value.items()
    match kind:
        case "S":
            _expect(held, str)
            return value
        case "N":
            _expect(held, str)
            return value if _PLAIN_INTEGER.fullmatch(held) else {"N": canonical_number(held)}
        case "B":
            _bytes_of(held)
            return value
        case "BOOL":
            _expect(held, bool)
            return value
        case "NULL":
            if held is not True:
                raise invalid_parameters("Null attribute value types must have the value of true")
            return value
        case "L":
            return {"L": [checked(each, _deeper(depth)) for each in _expect(held, list)]}
        case "M":
            return {"M": {name: checked(each, _deeper(depth)) for name, each in _expect(held, dict).items()}}
        case "SS" | "NS" | "BS":
            return {kind: _checked_set(kind, _expect(held, list))}
        case _:
            raise invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")


def canonical_number(text: str) -> str:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or text != text.strip() or "_" in text:
        raise invalid(f"The parameter cannot be converted to a numeric value: {text}")
    if not number:
        return "0"
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    if len(digits) > _LONGEST_NUMBER:
        raise invalid("Attempting to store more than 38 significant digits in a Number")
    if number.adjusted() > _HIGHEST_EXPONENT:
        raise invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
    if number.adjusted() < _LOWEST_EXPONENT:
        raise invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
    text = format(number, "f")
    return text.rstrip("0").rstrip(".").removeprefix("+") if "." in text else text


def number_of(text: str) -> int | Decimal:
    return int(text) if _PLAIN_INTEGER.fullmatch(text) else Decimal(text)


def comparable(value: Value) -> Any:
    """What orders values of one type: code points, which are ordered as UTF-8 is, numbers, or bytes."""
    ((kind, held),) = value.items()
    match kind:
        case "S":
            return held
        case "N":
            return number_of(held)
        case "B":
            return b64decode(held)
        case _:
            return None


def kind_of(value: Value) -> str:
    return next(iter(value))


def item_size(item: Mapping[str, Value]) -> int:
    """The size of an item by DynamoDB's published rules, in bytes."""
    total = 0
    for name, value in item.items():
        text = value.get("S")
        total += len(name) if name.isascii() else len(name.encode())
        # Most values are plain texts, and every write counts its item.
        total += len(text) if text is not None and text.isascii() else size(value)
    return total


def size(value: Value) -> int:
    ((kind, held),) = value.items()
    match kind:
        case "S":
            return _text_size(held)
        case "N":
            return _number_size(held)
        case "B":
            return _bytes_size(held)
        case "L":
            return 3 + sum(1 + size(each) for each in held)
        case "M":
            return 3 + len(held) + item_size(held)
        case "SS":
            return sum(map(_text_size, held))
        case "NS":
            return sum(map(_number_size, held))
        case "BS":
            return sum(map(_bytes_size, held))
        case _:
            return 1


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _number_size(text: str) -> int:
    digits = text.lstrip("-").replace(".", "").strip("0")
    return (len(digits) + 1) // 2 + 1 + text.startswith("-")


def _bytes_size(text: str) -> int:
    return len(text) * 3 // 4 - text.count("=")


def _bytes_of(text: Any) -> bytes:
    try:
        return b64decode(_expect(text, str), validate=True)
    except binascii.Error:
        raise Refusal("SerializationException", "The value is not base64") from None


def _checked_set(kind: str, members: list[Any]) -> list[str]:
    if not members:
        names = {"SS": "string", "NS": "number", "BS": "binary"}
        raise invalid_parameters(f"An {names[kind]} set  may not be empty")
    held = [checked({_SETS[kind]: each})[_SETS[kind]] for each in members]
    if len(set(held)) != len(held):
        raise invalid_parameters(f"Input collection [{', '.join(held)}] contains duplicates.")
    return sorted(held, key=number_of) if kind == "NS" else sorted(held)


def _expect(held: Any, kind: type) -> Any:
    if type(held) is not kind:
        raise Refusal("SerializationException", f"{type(held).__name__} found where {kind.__name__} was expected")
    return held


def _deeper(depth: int) -> int:
    if depth >= _DEEPEST - 1:
        raise invalid("Nesting Levels have exceeded supported limits")
    return depth + 1
