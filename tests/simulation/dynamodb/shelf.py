"""Entries by partition, in the order of their sort keys, with a memory of the latest changes for reads in the past."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tests.simulation.dynamodb.values import Item

# A sort key first, then whatever tells entries with the same one apart.
type Position = tuple[Any, ...]

_REMEMBERED = 1024


class Entry(NamedTuple):
    item: Item
    size: int


class Partition(NamedTuple):
    order: list[Position]
    entries: dict[Position, Entry]


class Shelf:
    def __init__(self) -> None:
        self._partitions: dict[Any, Partition] = {}
        self._log: deque[tuple[Any, Position, Entry | None]] = deque(maxlen=_REMEMBERED)

    def put(self, name: Any, position: Position, entry: Entry) -> None:
        partition = self._partitions.setdefault(name, Partition([], {}))
        old = partition.entries.get(position)
        if old is None:
            insort(partition.order, position)
        partition.entries[position] = entry
        self._log.append((name, position, old))

    def remove(self, name: Any, position: Position) -> None:
        partition = self._partitions[name]
        old = partition.entries.pop(position)
        del partition.order[bisect_left(partition.order, position)]
        self._log.append((name, position, old))

    def partition(self, name: Any, lag: int = 0) -> Partition:
        """A partition as it was that many changes of the whole shelf ago, as far as they are remembered."""
        now = self._partitions.get(name) or Partition([], {})
        undone = {position: old for changed, position, old in islice(reversed(self._log), lag) if changed == name}
        if not undone:
            return now
        then = {at: entry for at, entry in {**now.entries, **undone}.items() if entry is not None}
        return Partition(sorted(then), then)

    def names(self, lag: int = 0) -> list[Any]:
        """Every partition that has or lately had an entry, in a stable order."""
        return sorted({*self._partitions, *(name for name, _, _ in islice(reversed(self._log), lag))})
