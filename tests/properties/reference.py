"""What the port of the store means, written as plainly as it can be, and apart from every table that it judges."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from leasehold.kernel.table import Above, After, AnyOf, Delete, Equals, Exists, Missing, NotAfter, OneOf, Put

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leasehold.kernel.table import Change, Condition, Index, Key, Record, TableDefinition


class Reference:
    """Records by key, in a dictionary; every question is answered by looking at all of them."""

    def __init__(self) -> None:
        self.records: dict[Key, Record] = {}
        self.done: set[tuple[str, str]] = set()

    def allows(self, change: Change) -> bool:
        conditions = change.guards if isinstance(change, Put) else change.conditions
        return all(holds(each, self.records.get(change.key, {})) for each in conditions)

    def apply(self, change: Change) -> Record:
        """The record after the change; before it, for a delete."""
        before = self.records.get(change.key)
        if isinstance(change, Delete):
            return self.records.pop(change.key, {})
        if isinstance(change, Put):
            self.records[change.key] = copy.deepcopy(change.item)
        else:
            after: Record = dict(before or change.key.attributes) | copy.deepcopy(dict(change.sets))
            for name, amount in change.adds.items():
                number: Any = (before or {}).get(name, 0)
                after[name] = number + amount
            self.records[change.key] = {name: value for name, value in after.items() if name not in change.removes}
        return self.records[change.key]

    def found(
        self,
        table: TableDefinition,
        partition: str,
        *,
        index: Index | None,
        first: str | None = None,
        last: str | None = None,
        where: Iterable[Condition] = (),
    ) -> list[Record]:
        """All that a query finds, however many pages it takes, in order."""
        by, sort = (index.partition, index.sort) if index else (table.key[0], table.key[1])
        shown = [
            {name: value for name, value in record.items() if index is None or name in _visible(table, index)}
            for key, record in self.records.items()
            if key.table is table and record.get(by) == partition and sort in record
        ]
        inside = [
            record
            for record in shown
            if (first is None or str(record[sort]) >= first) and (last is None or str(record[sort]) <= last)
        ]
        fitting = [record for record in inside if all(holds(each, record) for each in where)]
        return sorted(fitting, key=lambda record: str(record[sort]))


def holds(condition: Condition, record: Record) -> bool:
    if isinstance(condition, AnyOf):
        return any(holds(each, record) for each in condition.conditions)
    if isinstance(condition, Missing):
        return condition.attribute not in record
    if condition.attribute not in record:
        return False
    stored: Any = record[condition.attribute]
    match condition:
        case Exists():
            return True
        case Equals(_, value):
            return same(stored, value)
        case OneOf(_, values):
            return any(same(stored, value) for value in values)
        case After(_, value):
            return bool(stored > value)
        case NotAfter(_, value):
            return bool(stored <= value)
        case Above(_, least):
            return bool(stored > least)


def same(one: object, other: object) -> bool:
    """Equal all the way down, as DynamoDB has it: its 1 is not its true."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _visible(table: TableDefinition, index: Index) -> set[str]:
    return {*table.key, index.partition, index.sort, *index.projected}
