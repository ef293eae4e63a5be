"""One table with its indexes: what is in it, what a change of it costs, and the change itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tests.simulation.dynamodb.capacity import TABLE, write_units
from tests.simulation.dynamodb.refusal import invalid
from tests.simulation.dynamodb.shelf import Entry, Shelf
from tests.simulation.dynamodb.values import item_size

if TYPE_CHECKING:
    from datetime import datetime

    from tests.simulation.dynamodb.schema import IndexSchema, Key, TableSchema
    from tests.simulation.dynamodb.shelf import Position
    from tests.simulation.dynamodb.values import Item

LARGEST_ITEM = 400 * 1024


class Move(NamedTuple):
    """What a change does to one index: take an entry away, put one in, or both."""

    index_name: str
    gone: tuple[Any, Position] | None
    new: tuple[Any, Position, Entry] | None


class Plan(NamedTuple):
    """A change that was decided on and not yet made."""

    table: Table
    key: Key
    old_entry: Entry | None
    new: Entry | None
    units: dict[str, float]
    moves: tuple[Move, ...]

    @property
    def old(self) -> Item | None:
        return self.old_entry.item if self.old_entry else None

    @property
    def largest(self) -> int:
        """The size of the larger of both images, by which a write is billed."""
        return max(self.old_entry.size if self.old_entry else 0, self.new.size if self.new else 0)

    @property
    def new_item(self) -> Item | None:
        return self.new.item if self.new else None


class Table:
    def __init__(self, schema: TableSchema, *, created_at: datetime) -> None:
        self.schema = schema
        self.items: dict[Key, Entry] = {}
        self.shelf = Shelf()
        self.indexes = {name: Shelf() for name in schema.indexes}
        self.created_at = created_at
        self.ttl: str | None = None

    @property
    def name(self) -> str:
        return self.schema.name

    def plan(self, key: Key, new: Item | None) -> Plan:
        old = self.items.get(key)
        entry = None
        if new is not None:
            entry = Entry(new, item_size(new))
            if entry.size > LARGEST_ITEM:
                to_update = " to update" if old else ""
                raise invalid(f"Item size{to_update} has exceeded the maximum allowed size")
        units = {TABLE: write_units(old.size if old else 0, entry.size if entry else 0)}
        moves = []
        for index in self.schema.indexes.values():
            move, count = self._move(index, old.item if old else None, new)
            if move:
                moves.append(move)
                units[index.name] = count
        return Plan(self, key, old, entry, units, tuple(moves))

    def _move(self, index: IndexSchema, old: Item | None, new: Item | None) -> tuple[Move | None, float]:
        before, after = self.schema.entry_of(index, old), self.schema.entry_of(index, new)
        if before is after or before == after:
            return None, 0
        put = (after[0], after[1], Entry(after[2], item_size(after[2]))) if after else None
        if before is None or after is None or before[:2] != after[:2]:
            # An entry cannot change its key: the old one is deleted, the new one put, and both are paid for.
            gone = before[:2] if before else None
            count = write_units(item_size(before[2])) if before else 0
            return Move(index.name, gone, put), count + (write_units(put[2].size) if put else 0)
        assert put is not None
        return Move(index.name, None, put), write_units(put[2].size, item_size(before[2]))

    def commit(self, plan: Plan) -> None:
        partition, sort = plan.key
        if plan.new is not None:
            self.items[plan.key] = plan.new
            self.shelf.put(partition, (sort,), plan.new)
        elif plan.old is not None:
            del self.items[plan.key]
            self.shelf.remove(partition, (sort,))
        for index, gone, new in plan.moves:
            if gone:
                self.indexes[index].remove(*gone)
            if new:
                self.indexes[index].put(*new)
