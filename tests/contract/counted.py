"""A table that counts its requests as DynamoDB would, on every store."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.table import Key, Page, Record, Table

_PER_BATCH = 100


class CountedTable:
    def __init__(self, table: Table) -> None:
        self._table = table
        self.requests: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def get(self, key: Key) -> Record | None:
        self.requests["get"] += 1
        return self._table.get(key)

    def get_many(self, keys: Sequence[Key]) -> list[Record]:
        self.requests["get_many"] += -(-len(keys) // _PER_BATCH)
        return self._table.get_many(keys)

    def query(self, *args: Any, **options: Any) -> Page:
        self.requests["query"] += 1
        return self._table.query(*args, **options)
