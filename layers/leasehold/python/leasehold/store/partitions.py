"""Whole partitions, for kinds of records that stay few."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.store.definition import JOBS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.store.table import Record, Table

_PAGE = 100


def records_in(table: Table, partition: str) -> Iterator[Record]:
    """Every record of a partition, by its sort key."""
    cursor: Record | None = None
    while True:
        page = table.query(JOBS, partition, limit=_PAGE, after=cursor)
        yield from page.records
        cursor = page.cursor
        if cursor is None:
            return
