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
        case list():
            return {"L": [to_value(each) for each in attribute]}
        case dict():
            return {"M": to_item(attribute)}


def to_item(record: Mapping[str, Attribute]) -> Item:
    return {name: to_value(attribute) for name, attribute in record.items()}


def from_value(value: AttributeValue) -> Attribute:
    match value:
        case {"S": text}:
            return cast("str", text)
        case {"N": number}:
            return int(number)
        case {"BOOL": flag}:
            return cast("bool", flag)
        case {"L": values}:
            return [from_value(each) for each in values]
        case {"M": item}:
            return from_item(item)
        case _:
            raise TypeError(f"Leasehold writes no attribute like {value!r}; who changed this item?")


def from_item(item: Mapping[str, AttributeValue]) -> Record:
    return {name: from_value(value) for name, value in item.items()}
