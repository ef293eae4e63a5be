"""Groups by their creation, the newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.admin.budget import Budget
from leasehold.admin.filters import fingerprint
from leasehold.admin.legs import ENDED_JOBS, Walk
from leasehold.admin.pages import Order, Page, Position, check_limit, decode_position, encode_cursor
from leasehold.admin.walking import walk
from leasehold.domain.errors import InvalidOptionError
from leasehold.store import keys
from leasehold.store.group_records import LISTED, group_of
from leasehold.store.unreadable import read_each

if TYPE_CHECKING:
    from leasehold.domain.group import Group
    from leasehold.engine.parts import Parts

# The ended index lists groups too, in a lane of their own.
_LEG = Walk(name="groups", source=ENDED_JOBS, order=Order.CREATED, partitions=(LISTED,))
_FINGERPRINT = fingerprint("groups")


def list_groups(parts: Parts, *, limit: object, cursor: str | None) -> Page[Group]:
    most, start = check_limit(limit), decode_position(cursor, _FINGERPRINT, _LEG)
    if not parts.deployment.registry().ended_index:
        raise InvalidOptionError(
            "ended_index = false",
            "this deployment has no ended index, from which groups are listed",
            "Deploy with it, or look at a group by its id.",
        )
    stretch = walk(parts.store.table, _LEG, start, most, Budget())
    # Only a group's own key makes a group of what stands in this lane.
    own = [cast("str", record["PK"]) for record in stretch.records if record["SK"] == keys.GROUP]
    listed = [group_id for each in own if (group_id := keys.group_of_partition(each)) is not None]
    read = read_each(parts.store.table.get_many([keys.group(group_id) for group_id in listed]), group_of)
    found = {group.group_id: group for group in read.items}
    end = stretch.below
    return Page(
        items=tuple(found[each] for each in listed if each in found),
        cursor=None if end is None else encode_cursor(Position(_LEG.name, end), _FINGERPRINT),
        order=_LEG.order,
        searched=stretch.searched,
        reached=None if end is None else _LEG.source.time_of(end),
        unreadable=tuple(read.unreadable),
    )
