"""Records to DynamoDB items and back. Records hold few types, so this stays small and quick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.store.table import Attribute, Record

type AttributeValue = dict[str, Any]
type Item = dict[str, AttributeValue]


def to_value(attribute: Attribute) -> AttributeValue:
    match attribute:
        case bool():
            return {"BOOL": attribute}
        case str():
            return {"S": attribute}
        case int():
            return {"N": str(attribute)}
        case bytes():
            return {"B": attribute}
        case list():
            return {"L": [to_value(each) for each in attribute]}
        case dict():
            return {"M": to_item(attribute)}


def to_item(record: Mapping[str, Attribute]) -> Item:
    # Most attributes are texts: the short way for these is a good part of the time.
    return {name: {"S": value} if type(value) is str else to_value(value) for name, value in record.items()}


def from_value(value: AttributeValue) -> Attribute:
    match value:
        case {"S": text}:
            return cast("str", text)
        case {"N": number}:
            return int(number)
        case {"BOOL": flag}:
            return cast("bool", flag)
        case {"B": data}:
            return _bytes_of(data)
        case {"L": values}:
            return [from_value(each) for each in values]
        case {"M": item}:
            return from_item(item)
        case _:
            raise TypeError(f"Leasehold writes no attribute like {value!r}; who changed this item?")


def _bytes_of(data: bytes | str) -> bytes:
    """The client decodes them; a stream's record that came through Lambda has them as base64."""
    if isinstance(data, bytes):
        return data
    from base64 import b64decode

    return b64decode(data)


def from_item(item: Mapping[str, AttributeValue]) -> Record:
    return {name: value["S"] if "S" in value else from_value(value) for name, value in item.items()}
