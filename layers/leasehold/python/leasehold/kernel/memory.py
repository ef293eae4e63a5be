"""The in-memory table: the same meaning as DynamoDB's, for tests and the simulation. It ships to users."""

from __future__ import annotations

import operator
import threading
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from typing import TYPE_CHECKING, Any, assert_never, cast

from leasehold.kernel.table import (
    AnyOf,
    Comparison,
    ConditionFailed,
    Exists,
    Key,
    Missing,
    OneOf,
    Page,
    Put,
    TransactionCancelled,
    Update,
    check_plain,
    content_token,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Unpack

    from leasehold.kernel.table import Asked, Attribute, Change, Condition, ForeignItem, Index, Record, TableDefinition


class MemoryTable:
    """Linearisable: one lock, every change under it. Reads hand out copies."""

    def __init__(self, name: str = "memory") -> None:
        self.name = name
        self._lock = threading.RLock()
        self._records: dict[Key, Record] = {}
        # Of each partition of a table or an index, in order: the sort values, then the keys, which tell apart equals.
        self._places: defaultdict[tuple[object, Attribute], list[tuple[Any, ...]]] = defaultdict(list)
        self._tokens: set[str] = set()

    def get(self, key: Key) -> Record | None:
        with self._lock:
            return _copy(self._records.get(key))

    def get_many(self, keys: Sequence[Key]) -> list[Record]:
        with self._lock:
            return [record for key in dict.fromkeys(keys) if (record := self.get(key)) is not None]

    def query(self, table: TableDefinition, partition: str, *, limit: int, **asked: Unpack[Asked]) -> Page:
        with self._lock:
            index, first, last, after = asked.get("index"), asked.get("first"), asked.get("last"), asked.get("after")
            places = self._places.get((index or table, partition), [])
            low = 0 if first is None else bisect_left(places, (first,))
            high = len(places) if last is None else bisect_right(places, last, key=operator.itemgetter(0))
            if after is not None:
                place = after[index.sort if index else table.key[-1]], tuple(after[name] for name in table.key)
                if asked.get("newest_first"):
                    high = min(high, bisect_left(places, place))
                else:
                    low = max(low, bisect_right(places, place))
            chosen = places[low:high][:: -1 if asked.get("newest_first") else 1][:limit]
            records = [self._records[Key(table, key)] for _, key in chosen]
            if index is not None:
                visible = {*table.key, index.partition, index.sort, *index.projected}
                records = [{name: each[name] for name in each if name in visible} for each in records]
            # Like DynamoDB, a full page has a cursor even when nothing follows, or nothing of it fits.
            cursor = _copy(records[-1]) if len(records) == limit else None
            fitting = [each for each in records if all(holds(condition, each) for condition in asked.get("where", ()))]
            return Page(_copy(fitting), cursor)

    def count(
        self, table: TableDefinition, partition: str, *, index: Index, last: str | None = None, limit: int
    ) -> int:
        return len(self.query(table, partition, index=index, last=last, limit=limit).records)

    def scan(self, table: TableDefinition) -> Iterator[Record]:
        with self._lock:
            return iter([_copy(record) for (each, _), record in self._records.items() if each is table])

    def write(self, change: Change) -> Record:
        with self._lock:
            current = self._records.get(change.key)
            if not _allows(change, current):
                raise ConditionFailed(_copy(current))
            return _copy(self._apply(change))

    def insert_many(self, puts: Sequence[Put]) -> list[Exception | None]:
        return [self._answer(Put(key=put.key, record=put.record)) for put in puts]

    def update_many(self, updates: Sequence[Update]) -> list[Exception | None]:
        check_plain(updates)
        return [self._answer(update) for update in updates]

    def _answer(self, change: Change) -> Exception | None:
        try:
            self.write(change)
        except ConditionFailed:
            return ConditionFailed(None)  # as DynamoDB: a batch does not tell what is stored
        return None

    def transact(self, changes: Sequence[Change], *, token: str, foreign: Sequence[ForeignItem] = ()) -> None:
        if foreign:
            raise NotImplementedError("the in-memory table holds jobs only; your own items need a DynamoDB table")
        with self._lock:
            done = content_token(token, list(changes))
            if done in self._tokens:
                return
            stored = [self._records.get(change.key) for change in changes]
            failed = {at: _copy(stored[at]) for at, change in enumerate(changes) if not _allows(change, stored[at])}
            if failed:
                raise TransactionCancelled(failed)
            for change in changes:
                self._apply(change)
            self._tokens.add(done)

    def _apply(self, change: Change) -> Record:
        """Make a change, in the table and in each index that has the record before or after it; {} is no record."""
        table, old = change.key.table, self._records.get(change.key, {})
        new: Record = dict(zip(table.key, change.key.values, strict=True))
        if isinstance(change, Put):
            new |= _copy(change.record)
        elif isinstance(change, Update):
            added = {name: cast("int", old.get(name, 0)) + amount for name, amount in change.adds.items()}
            changed = {**new, **old, **added, **_copy(dict(change.sets))}
            new = {name: value for name, value in changed.items() if name not in change.removes}
        else:
            new = {}
        self._records.pop(change.key, None)
        for index in (None, *table.indexes):
            partition, sort = (index.partition, index.sort) if index else (table.key[0], table.key[-1])
            if partition in old and sort in old:
                places = self._places[index or table, old[partition]]
                del places[bisect_left(places, (old[sort], change.key.values))]
            if partition in new and sort in new:
                insort(self._places[index or table, new[partition]], (new[sort], change.key.values))
        if new:
            self._records[change.key] = new
        return new or old


def _copy[T](value: T) -> T:
    """A copy of a record, or of what one holds. Much quicker than `copy.deepcopy`, which prepares for cycles."""
    if isinstance(value, dict):
        return cast("T", {name: _copy(each) for name, each in value.items()})
    if isinstance(value, list):
        return cast("T", [_copy(each) for each in value])
    return value


def _allows(change: Change, record: Record | None) -> bool:
    """Whether the conditions of a change hold for what is stored; without any of its own, it only inserts."""
    if change.conditions is None:
        return record is None
    return all(holds(each, record or {}) for each in change.conditions)


def holds(condition: Condition, record: Mapping[str, Any]) -> bool:
    """Whether a stored record fulfils a bound condition."""
    # Like DynamoDB, a comparison with an attribute that is not there is false.
    match condition:
        case Exists(attribute):
            return attribute in record
        case Missing(attribute):
            return attribute not in record
        case OneOf(attribute, values):
            return attribute in record and any(_same(record[attribute], value) for value in values)
        case Comparison(attribute, value):
            compares: Callable[[Any, Any], object] = {"=": _same, ">": operator.gt, "<=": operator.le}[condition.sign]
            return attribute in record and bool(compares(record[attribute], value))
        case AnyOf(conditions):
            return any(holds(each, record) for each in conditions)
        case _:
            assert_never(condition)


def _same(stored: object, value: object) -> bool:
    """Equal as DynamoDB has it: to Python, True is 1 as well."""
    if isinstance(stored, list) and isinstance(value, list):
        return len(stored) == len(value) and all(map(_same, stored, value))
    if isinstance(stored, dict) and isinstance(value, dict):
        return stored.keys() == value.keys() and all(_same(stored[name], value[name]) for name in stored)
    return stored == value and isinstance(stored, bool) == isinstance(value, bool)
