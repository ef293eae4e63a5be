"""What has a name, by its name: schedules and templates, some hundreds at most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.admin.filters import fingerprint
from leasehold.admin.pages import Order, Page, Position, check_limit, decode_cursor, encode_cursor
from leasehold.domain.errors import InvalidCursorError
from leasehold.store.definition import JOBS
from leasehold.store.unreadable import read_each

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.engine.parts import Parts
    from leasehold.store.table import Record


def list_named[Item](
    partition: str,
    read: Callable[[Record], Item],
    parts: Parts,
    *,
    limit: object,
    cursor: str | None,
) -> Page[Item]:
    most, own = check_limit(limit), fingerprint(partition)
    after: Record | None = None
    if cursor is not None:
        leg, name = decode_cursor(cursor, own)
        if leg != partition or not name:
            raise InvalidCursorError(cursor, "this cursor points nowhere", "Start again without a cursor.")
        after = {"PK": partition, "SK": name}
    page = parts.store.table.query(JOBS, partition, limit=most, after=after)
    end = None if page.cursor is None else encode_cursor(Position(partition, str(page.cursor["SK"])), own)
    listed = read_each(page.records, read)
    return Page(
        items=tuple(listed.items),
        cursor=end,
        order=Order.NAME,
        searched=len(page.records),
        unreadable=tuple(listed.unreadable),
    )
