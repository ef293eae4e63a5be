"""Access patterns of groups: each change of one commits with the changes of its members, or not at all."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, cast

from leasehold.groups.model import CODE_BYTES, MAX_MEMBERS, Group, GroupMode, GroupState, MemberEnd, OnFailure
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.job import job_of, job_record
from leasehold.kernel.keys import JobId, to_text
from leasehold.kernel.lanes import SERVICE_LANE
from leasehold.kernel.partitions import refusal
from leasehold.kernel.records import Codec, Kind
from leasehold.kernel.table import (
    ENDED_INDEX,
    JOBS,
    Above,
    ConditionFailed,
    Delete,
    Equals,
    Exists,
    Key,
    Missing,
    Put,
    TransactionCancelled,
    Update,
    check_format,
)
from leasehold.kernel.unreadable import Listed, read_each, read_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change, Condition, Record, Table


GROUP = "group"
CALLBACK = "callback"
CODES = "codes"

# What would put a job that is still to be made into an index.
_PLACES = frozenset({"due_lane", "due_key", "wake"})


class Groups:
    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, group_id: str) -> Group | None:
        record = self._table.get(group_key(group_id))
        if record is None:
            return None
        codes = b"" if "codes" in record else self._codes(group_id, record)
        return read_one(record, lambda each: group_of(each, codes))

    def _codes(self, group_id: str, record: Record) -> bytes:
        """Those that stand apart from the group. One that was replaced meanwhile is over, and needs them no more."""
        apart = self._table.get(group_key(group_id, CODES)) or {}
        if apart.get("stamp") != record.get("stamp"):
            return b""
        return decompressed(cast("bytes", apart["codes"]), cast("int", record.get("total", 0)))

    def newest(self, *, limit: int) -> Listed[Group]:
        """Groups by their creation, the newest first."""
        page = self._table.query(JOBS, LISTED, index=ENDED_INDEX, limit=limit, newest_first=True)
        keys = [key for entry in page.records if (key := listed_group_key(entry)) is not None]
        read = read_each(self._table.get_many(keys), group_of)
        found = {group_key(group.group_id): group for group in read.items}
        return Listed([found[key] for key in keys if key in found], read.unreadable)

    def begin(
        self, group: Group, callback: Job | None, replaced: Group | None, *, token: str, also: Sequence[Change] = ()
    ) -> bool:
        """Put a new group with what its end shall make; False if there is one, or no longer the one to replace."""
        as_read = None if replaced is None else (Equals("stamp", replaced.stamp), Exists("ended_at"))
        put = Put(key=group_key(group.group_id), record=group_record(group), conditions=as_read)
        others: list[Change] = [*([] if callback is None else [_kept(group, callback)]), *also]
        if are_codes_apart(group):
            codes: Record = {"codes": zlib.compress(group.codes, 9), "stamp": group.stamp}
            others.append(Put(key=group_key(group.group_id, CODES), record=codes, conditions=()))
        try:
            if others:
                self._table.transact([put, *others], token=token)
            else:
                self._table.write(put)
        except ConditionFailed as failed:
            return _is_own(group, failed.current)
        except TransactionCancelled as cancelled:
            return _is_own(group, cancelled.failed.get(0))
        return True

    def change(self, seen: Group, after: Group) -> bool:
        """Change the group alone; False if it is not what was read."""
        current = refusal(self._table, change_of(seen, after))
        # A due key has its writer's own stamp: where it stands, only the response of our first try was lost.
        return current is None or (after.due_key is not None and current.get("due_key") == after.due_key)

    def change_with(self, seen: Group, after: Group, changes: Sequence[Change], *, token: str) -> bool:
        """Change the group together with jobs; False, and nothing is written, if one of them is not what was read."""
        try:
            self._table.transact([change_of(seen, after), *changes], token=token)
        except TransactionCancelled:
            return False
        return True

    def callback(self, group_id: str) -> Job | None:
        """What the group's end shall make, as it was asked for."""
        record = self._table.get(group_key(group_id, CALLBACK))
        return job_of(record, JobId(cast("str", record["job_id"]))) if record else None


def callback_used(group_id: str) -> Delete:
    """The job is made in the same transaction, or never: its own record goes."""
    return Delete(key=group_key(group_id, CALLBACK), conditions=(Exists("PK"),))


def _kept(group: Group, callback: Job) -> Put:
    record = {name: value for name, value in job_record(callback).items() if name not in _PLACES}
    return Put(key=group_key(group.group_id, CALLBACK), record=record, conditions=())


def _is_own(group: Group, current: Record | None) -> bool:
    """Whether an earlier try of ours made it, and only its response was lost."""
    return current is not None and current["stamp"] == group.stamp


# The lane of the ended index that lists all groups.
LISTED = "group"
# Of so many bytes: 50 members of several types, or all that are of one.
_CODES_WITHIN = 100
# These change at the end of every member: they are added to, so that ends that meet do not shut each other out.
_COUNTED = frozenset({"left", *map(str, MemberEnd)})


_CODEC = Codec(
    Group,
    {"GroupMode": Kind(str, GroupMode), "OnFailure": Kind(str, OnFailure), "GroupState": Kind(str, GroupState)},
    without={"group_id"},
    always={"state", "shards", "made"},
)


def group_record(group: Group) -> Record:
    record = _CODEC.record(group)
    if are_codes_apart(group):
        del record["codes"]
    if group.due_key:
        record["due_lane"] = SERVICE_LANE
    return record | {"ended_lane": LISTED, "ended_key": f"{to_text(group.created_at)}#{group.group_id}"}


def are_codes_apart(group: Group) -> bool:
    """The group is written at the end of each member: what is long does not belong into it."""
    return len(group.codes) > _CODES_WITHIN


def codes_expire(group: Group) -> tuple[Update, ...]:
    """Those that stand apart go when their group goes."""
    if group.expires_at is None or not are_codes_apart(group):
        return ()
    # What changes with it is conditional on the group.
    return (Update(key=group_key(group.group_id, CODES), conditions=(), sets={"expires_at": group.expires_at}),)


def decompressed(form: bytes, total: int) -> bytes:
    """No more of it than a group of so many members needs, whoever wrote it and whatever total it claims."""
    # Not by the total: without one, zlib would know no bound at all.
    return zlib.decompressobj().decompress(form, MAX_MEMBERS * CODE_BYTES)[: total * CODE_BYTES]


def group_of(record: Record, codes: bytes = b"") -> Group:
    check_format(record, f"group {record['PK']!r}")
    group_id = group_of_partition(cast("str", record["PK"])) or ""
    return Group(group_id=group_id, **{"codes": codes, **_CODEC.values(record)})


def change_of(seen: Group, after: Group) -> Update:
    """The write that makes `after` of the group, as long as all that it changes is as it was seen.

    Counts are the exception: who counts an end need only know whether it is the last one.
    """
    old, new = group_record(seen), group_record(after)
    counted = {name: getattr(after, name) - getattr(seen, name) for name in _COUNTED}
    written = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)} - _COUNTED
    return Update(
        key=group_key(seen.group_id),
        conditions=(
            Equals("stamp", seen.stamp),
            Equals("state", str(seen.state)),
            *(Equals(name, old[name]) if name in old else Missing(name) for name in sorted(written - {"state"})),
            *_leaving(seen, after),
        ),
        sets={name: new[name] for name in written if name in new},
        adds={name: number for name, number in counted.items() if number},
        removes=frozenset(name for name in written if name not in new),
    )


def _leaving(seen: Group, after: Group) -> tuple[Condition, ...]:
    """The last end must know that it is the last, and every other that it is not."""
    if after.left == seen.left:
        return ()
    return (Above("left", seen.left - after.left),) if after.left else (Equals("left", seen.left),)


def group_key(group_id: str, what: str = GROUP) -> Key:
    """Of the group, or of what is kept apart, since the group itself is written at the end of each member: the job that
    its end makes, and the codes of many members of several types.
    """
    return Key(JOBS, (f"{GROUP}#{group_id}", what))


def check_listed(services: Services) -> None:
    if not services.deployment.registry().ended_index:
        problem = "this deployment has no ended index, from which groups are listed"
        raise InvalidOptionError("ended_index = false", problem, "Deploy with it, or look at a group by its id.")


def listed_group_key(entry: Record) -> Key | None:
    """Who may write an item can put it into the lane of groups: only a group's own key makes it one."""
    group_id = group_of_partition(cast("str", entry["PK"])) if entry["SK"] == GROUP else None
    return None if group_id is None else group_key(group_id)


def group_of_partition(partition: str) -> str | None:
    """The group that lives there; None if none does."""
    return partition.partition("#")[2] if partition.startswith(f"{GROUP}#") else None
