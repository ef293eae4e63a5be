"""Reads: single items, batches of them, queries and scans, each on the past if the database says so."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from tests.simulation.dynamodb.bindings import bind
from tests.simulation.dynamodb.capacity import TABLE, Bill, read_units
from tests.simulation.dynamodb.parsing import parse_condition
from tests.simulation.dynamodb.projections import projected
from tests.simulation.dynamodb.ranges import key_range
from tests.simulation.dynamodb.refusal import invalid
from tests.simulation.dynamodb.values import checked_item, comparable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.simulation.dynamodb.bindings import Bound
    from tests.simulation.dynamodb.schema import KeySchema, TableSchema
    from tests.simulation.dynamodb.shelf import Entry, Partition, Position
    from tests.simulation.dynamodb.table import Table

type Request = Mapping[str, Any]
type Found = tuple[Any, Position, Entry]

_PAGE = 1024 * 1024
_KEYS_PER_BATCH = 100


def get_item(table: Table, request: Request, bill: Bill, lag: int) -> dict[str, Any]:
    bound = bind(request)
    key = table.schema.key_of(request.get("Key"))
    entry = _entry_at(table, key, lag)
    bill.read(table.name, TABLE, read_units(entry.size if entry else 0, consistent=_is_consistent(request)))
    if entry is None:
        return {}
    return {"Item": projected(entry.item, request.get("ProjectionExpression"), bound)}


def batch_get(tables: Mapping[str, Table], request: Request, bill: Bill, lags: Mapping[str, int]) -> dict[str, Any]:
    wanted = request["RequestItems"]
    if not 0 < sum(len(each["Keys"]) for each in wanted.values()) <= _KEYS_PER_BATCH:
        raise invalid("Too many items requested for the BatchGetItem call")
    responses: dict[str, list[Any]] = {}
    for name, each in wanted.items():
        table = tables[name]
        bound = bind(each)
        keys = [table.schema.key_of(key) for key in each["Keys"]]
        if len(set(keys)) != len(keys):
            raise invalid("Provided list of item keys contains duplicates")
        responses[name] = []
        for key in keys:
            entry = _entry_at(table, key, lags[name])
            bill.read(name, TABLE, read_units(entry.size if entry else 0, consistent=_is_consistent(each)))
            if entry:
                responses[name].append(projected(entry.item, each.get("ProjectionExpression"), bound))
    return {"Responses": responses, "UnprocessedKeys": {}}


def query(table: Table, request: Request, bill: Bill, lag: int) -> dict[str, Any]:
    index, key = _place(table.schema, request)
    bound = bind(request)
    wanted = key_range(request.get("KeyConditionExpression"), bound, key)
    shelf = table.indexes[index] if index else table.shelf
    partition = shelf.partition(wanted.partition, lag)
    low, high = wanted.within(partition.order)
    forward = request.get("ScanIndexForward", True)
    start = request.get("ExclusiveStartKey")
    if start is not None:
        _, position = _cursor(start, key, table.schema, index=bool(index))
        if forward:
            low = max(low, bisect_right(partition.order, position))
        else:
            high = min(high, bisect_left(partition.order, position))
    order = partition.order[low:high] if forward else partition.order[low:high][::-1]
    entries = ((wanted.partition, position, partition.entries[position]) for position in order)
    return _page(table, request, entries, bill=bill, bound=bound, key=key)


def scan(table: Table, request: Request, bill: Bill, lag: int) -> dict[str, Any]:
    index, key = _place(table.schema, request)
    bound = bind(request)
    shelf = table.indexes[index] if index else table.shelf
    start = request.get("ExclusiveStartKey")
    after = _cursor(start, key, table.schema, index=bool(index)) if start is not None else None
    partitions = [(name, shelf.partition(name, lag)) for name in shelf.names(lag)]
    entries = (found for name, each in partitions for found in _listed(name, each) if not after or found[:2] > after)
    return _page(table, request, entries, bill=bill, bound=bound, key=key)


def _listed(name: Any, partition: Partition) -> Iterable[Found]:
    return ((name, position, partition.entries[position]) for position in partition.order)


def _place(schema: TableSchema, request: Request) -> tuple[str | None, KeySchema]:
    index = request.get("IndexName")
    if index is None:
        return None, schema.key
    if index not in schema.indexes:
        raise invalid(f"The table does not have the specified index: {index}")
    if _is_consistent(request):
        raise invalid("Consistent reads are not supported on global secondary indexes")
    return index, schema.indexes[index].key


def _cursor(given: Any, key: KeySchema, schema: TableSchema, *, index: bool) -> tuple[Any, Position]:
    names = {*key.names, *schema.key.names}
    if type(given) is not dict or given.keys() != names:
        raise invalid("The provided starting key is invalid")
    item = checked_item(given)
    sort = comparable(item[key.sort]) if key.sort else None
    position = (sort, *schema.key_in(item)) if index else (sort,)
    return comparable(item[key.partition]), position


def _page(
    table: Table, request: Request, entries: Iterable[Found], *, bill: Bill, bound: Bound, key: KeySchema
) -> dict[str, Any]:
    """Entries up to the limit or a megabyte, then those of them that pass the filter."""
    text = request.get("FilterExpression")
    keep = None if text is None else parse_condition(text, "FilterExpression")
    limit = request.get("Limit")
    if limit is not None and limit < 1:
        raise invalid("Limit must be greater than or equal to 1")
    found, scanned, total = [], 0, 0
    cursor = None
    for _, _, entry in entries:
        if scanned == limit or (scanned and total + entry.size > _PAGE):
            break
        scanned += 1
        total += entry.size
        cursor = {**key.part_of(entry.item), **table.schema.key.part_of(entry.item)}
        if keep is None or keep.holds(entry.item, *bound):
            found.append(entry.item)
    else:
        # A page that ends with its limit has a cursor, even where nothing more comes.
        cursor = cursor if scanned == limit else None
    units = read_units(total, consistent=_is_consistent(request))
    bill.read(table.name, request.get("IndexName") or TABLE, units)
    answer: dict[str, Any] = {"Count": len(found), "ScannedCount": scanned}
    if request.get("Select") != "COUNT":
        answer["Items"] = [projected(item, request.get("ProjectionExpression"), bound) for item in found]
    if cursor is not None:
        answer["LastEvaluatedKey"] = cursor
    return {**answer, **bill.single(request)}


def _entry_at(table: Table, key: tuple[Any, Any], lag: int) -> Entry | None:
    if not lag:
        return table.items.get(key)
    return table.shelf.partition(key[0], lag).entries.get((key[1],))


def _is_consistent(request: Request) -> bool:
    return bool(request.get("ConsistentRead"))
