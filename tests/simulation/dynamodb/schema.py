"""What a table is made of, as CreateTable says it: keys, their types, and indexes with their projections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.simulation.dynamodb.refusal import invalid, invalid_parameters
from tests.simulation.dynamodb.values import checked, comparable, kind_of, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.simulation.dynamodb.shelf import Position
    from tests.simulation.dynamodb.values import Item, Value

type Key = tuple[Any, Any]

_LONGEST = {"HASH": 2048, "RANGE": 1024}
_KEY_KINDS = frozenset({"S", "N", "B"})


@dataclass(frozen=True, slots=True)
class KeySchema:
    partition: str
    sort: str | None
    kinds: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.partition,) if self.sort is None else (self.partition, self.sort)

    def part_of(self, item: Item) -> Item:
        return {name: item[name] for name in self.names}


@dataclass(frozen=True, slots=True)
class IndexSchema:
    name: str
    key: KeySchema
    # In an order that does not change from run to run; without it, every attribute is projected.
    projected: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class TableSchema:
    name: str
    key: KeySchema
    indexes: Mapping[str, IndexSchema]

    def key_of(self, given: Any) -> Key:
        """The key in a request, which must be nothing but the key."""
        names = self.key.names
        if type(given) is not dict or len(given) != len(names) or any(name not in given for name in names):
            raise invalid("The provided key element does not match the schema")
        for name in names:
            value = checked(given[name])
            if kind_of(value) != self.key.kinds[name]:
                raise invalid("The provided key element does not match the schema")
            self._refuse_bad_key(name, value)
        return self.key_in(given)

    def key_of_item(self, item: Item) -> Key:
        """The key within an item that is put."""
        for name in self.key.names:
            if name not in item:
                raise invalid_parameters(f"Missing the key {name} in the item")
            expected, actual = self.key.kinds[name], kind_of(item[name])
            if expected != actual:
                raise invalid_parameters(f"Type mismatch for key {name} expected: {expected} actual: {actual}")
            self._refuse_bad_key(name, item[name])
        return self.key_in(item)

    def key_in(self, item: Item) -> Key:
        sort = self.key.sort
        return comparable(item[self.key.partition]), None if sort is None else comparable(item[sort])

    def _refuse_bad_key(self, name: str, value: Value) -> None:
        held = next(iter(value.values()))
        if not held:
            kind = "string" if "S" in value else "binary"
            raise invalid(
                "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
                f"empty {kind} value. Key: {name}"
            )
        role = "HASH" if name == self.key.partition else "RANGE"
        if size(value) > _LONGEST[role]:
            what = "hashkey" if role == "HASH" else "aggregated range keys"
            raise invalid_parameters(f"Size of {what} has exceeded the size limit of {_LONGEST[role]} bytes")

    def refuse_bad_index_keys(self, item: Item) -> None:
        for index in self.indexes.values():
            for name in index.key.names:
                value = item.get(name)
                if value is None:
                    continue
                expected, actual = index.key.kinds[name], kind_of(value)
                if expected != actual:
                    raise invalid_parameters(
                        f"Type mismatch for Index Key {name} Expected: {expected} Actual: {actual} "
                        f"IndexName: {index.name}"
                    )
                if not value[actual]:
                    raise invalid(
                        "One or more parameter values are not valid. A value specified for a secondary index key is "
                        "not supported. The AttributeValue for a key attribute cannot contain an empty string value. "
                        f"IndexName: {index.name}, IndexKey: {name}"
                    )

    def entry_of(self, index: IndexSchema, item: Item | None) -> tuple[Any, Position, Item] | None:
        """Where the item stands in the index, and what of it; nowhere without all of the index's key."""
        if item is None or any(name not in item for name in index.key.names):
            return None
        sort = None if index.key.sort is None else comparable(item[index.key.sort])
        position = (sort, *self.key_in(item))
        return comparable(item[index.key.partition]), position, self._projected(index, item)

    def _projected(self, index: IndexSchema, item: Item) -> Item:
        if index.projected is None:
            return item
        return {name: item[name] for name in index.projected if name in item}


def schema_of(request: Mapping[str, Any]) -> TableSchema:
    kinds = {each["AttributeName"]: each["AttributeType"] for each in request["AttributeDefinitions"]}
    key = _key_schema(request["KeySchema"], kinds)
    indexes = {each["IndexName"]: _index(each, key, kinds) for each in request.get("GlobalSecondaryIndexes", [])}
    used = {*key.names, *(name for index in indexes.values() for name in index.key.names)}
    if used != kinds.keys():
        raise invalid_parameters(
            "Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions"
        )
    return TableSchema(request["TableName"], key, indexes)


def _index(request: Mapping[str, Any], table: KeySchema, kinds: Mapping[str, str]) -> IndexSchema:
    key = _key_schema(request["KeySchema"], kinds)
    projection = request["Projection"]
    match projection.get("ProjectionType"):
        case "ALL":
            projected = None
        case "KEYS_ONLY":
            projected = tuple(dict.fromkeys((*table.names, *key.names)))
        case "INCLUDE":
            projected = tuple(dict.fromkeys((*table.names, *key.names, *projection["NonKeyAttributes"])))
        case other:
            raise invalid_parameters(f"Unknown ProjectionType: {other}")
    return IndexSchema(request["IndexName"], key, projected)


def _key_schema(request: Iterable[Mapping[str, str]], kinds: Mapping[str, str]) -> KeySchema:
    names = {each["KeyType"]: each["AttributeName"] for each in request}
    for name in names.values():
        if kinds.get(name) not in _KEY_KINDS:
            raise invalid_parameters(f"Some index key attributes are not defined in AttributeDefinitions: {name}")
    if "HASH" not in names:
        raise invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    return KeySchema(names["HASH"], names.get("RANGE"), {name: kinds[name] for name in names.values()})
