"""A group as a record, and a change of it as one conditional write."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from leasehold.domain.conditions import Above, Equals, Missing
from leasehold.domain.due import SERVICE_LANE
from leasehold.domain.group import CODE_BYTES, Group, GroupMode, GroupState, MemberEnd, OnFailure
from leasehold.domain.instants import from_text, to_text
from leasehold.domain.job import SYSTEM
from leasehold.store import keys
from leasehold.store.records import encode
from leasehold.store.table import Put, Update

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.conditions import Condition
    from leasehold.store.table import Record

# The lane of the ended index that lists all groups.
LISTED = "group"
# Of so many bytes: 50 members of several types, or all that are of one.
_CODES_WITHIN = 100
# These change at the end of every member: they are added to, so that ends that meet do not shut each other out.
_COUNTED = frozenset({"left", *map(str, MemberEnd)})


def group_record(group: Group) -> Record:
    optional: dict[str, object] = {
        **{str(end): getattr(group, end) or None for end in MemberEnd},
        "created_by": None if group.created_by == SYSTEM else group.created_by,
        "reason": group.reason,
        "ended_at": group.ended_at,
        "callback": group.callback,
        "callback_code": group.callback_code or None,
        "codes": None if are_codes_apart(group) else group.codes,
        "turn": group.turn,
        "swept": group.swept,
        "abandoned": group.abandoned or None,
        "due_lane": SERVICE_LANE if group.due_key else None,
        "due_key": group.due_key,
        "wake": group.wake or None,
        "expires_at": group.expires_at,
    }
    return {
        "mode": str(group.mode),
        "on_failure": str(group.on_failure),
        "total": group.total,
        "created_at": to_text(group.created_at),
        "state": str(group.state),
        "left": group.left,
        "content": group.content,
        "stamp": group.stamp,
        "shards": group.shards,
        "made": group.made,
        "made_at": to_text(group.made_at),
        "ended_lane": LISTED,
        "ended_key": f"{to_text(group.created_at)}#{group.group_id}",
        **{name: encode(value) for name, value in optional.items() if value is not None},
    }


def are_codes_apart(group: Group) -> bool:
    """The group is written at the end of each member: what is long does not belong into it."""
    return len(group.codes) > _CODES_WITHIN


def codes_put(group: Group) -> Put:
    record: Record = {"codes": compressed(group.codes), "stamp": group.stamp}
    return Put(key=keys.group_codes(group.group_id), record=record, conditions=())


def codes_expire(group: Group) -> Update:
    """They go when their group goes."""
    assert group.expires_at is not None
    return Update(
        key=keys.group_codes(group.group_id),
        # What changes with it is conditional on the group.
        conditions=(),
        sets={"expires_at": group.expires_at},
    )


def compressed(codes: bytes) -> bytes:
    return zlib.compress(codes, 9)


def decompressed(form: bytes, total: int) -> bytes:
    """No more of it than a group of so many members needs, whoever wrote it."""
    return zlib.decompressobj().decompress(form, total * CODE_BYTES)


def group_of(record: Record, codes: bytes = b"") -> Group:
    read: dict[str, Any] = record
    return Group(
        group_id=keys.group_of_partition(read["PK"]) or "",
        mode=GroupMode(read["mode"]),
        on_failure=OnFailure(read["on_failure"]),
        total=read["total"],
        created_at=from_text(read["created_at"]),
        created_by=read.get("created_by", SYSTEM),
        state=GroupState(read["state"]),
        left=read["left"],
        reason=read.get("reason"),
        ended_at=_time(read.get("ended_at")),
        callback=read.get("callback"),
        callback_code=read.get("callback_code", 0),
        codes=read.get("codes", codes),
        content=read["content"],
        stamp=read["stamp"],
        shards=read["shards"],
        made=read["made"],
        made_at=from_text(read["made_at"]),
        turn=read.get("turn"),
        swept=read.get("swept"),
        abandoned=read.get("abandoned", False),
        due_key=read.get("due_key"),
        wake=read.get("wake", False),
        expires_at=read.get("expires_at"),
        **{str(end): read.get(end, 0) for end in MemberEnd},
    )


def change_of(seen: Group, after: Group) -> Update:
    """The write that makes `after` of the group, as long as all that it changes is as it was seen.

    Counts are the exception: who counts an end need only know whether it is the last one.
    """
    old, new = group_record(seen), group_record(after)
    counted = {name: getattr(after, name) - getattr(seen, name) for name in _COUNTED}
    written = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)} - _COUNTED
    return Update(
        key=keys.group(seen.group_id),
        conditions=(
            Equals("stamp", seen.stamp),
            Equals("state", str(seen.state)),
            *(_as_seen(old, name) for name in sorted(written - {"state"})),
            *_leaving(seen, after),
        ),
        sets={name: new[name] for name in written if name in new},
        adds={name: number for name, number in counted.items() if number},
        removes=frozenset(name for name in written if name not in new),
    )


def _as_seen(old: Record, name: str) -> Condition:
    return Equals(name, old[name]) if name in old else Missing(name)


def _leaving(seen: Group, after: Group) -> tuple[Condition, ...]:
    """The last end must know that it is the last, and every other that it is not."""
    if after.left == seen.left:
        return ()
    return (Above("left", seen.left - after.left),) if after.left else (Equals("left", seen.left),)


def _time(text: str | None) -> datetime | None:
    return None if text is None else from_text(text)
