"""Access patterns of groups: each change of one commits with the changes of its members, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.domain.conditions import Equals, Exists
from leasehold.domain.ids import JobId
from leasehold.store import keys
from leasehold.store.definition import ENDED_INDEX, JOBS
from leasehold.store.group_records import (
    LISTED,
    are_codes_apart,
    change_of,
    codes_put,
    decompressed,
    group_of,
    group_record,
)
from leasehold.store.records import described_job, job_record
from leasehold.store.table import ConditionFailed, Delete, Put, TransactionCancelled
from leasehold.store.unreadable import Listed, read_each, read_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.domain.group import Group
    from leasehold.domain.job import Job
    from leasehold.store.table import Change, Record, Table

# What would put a job that is still to be made into an index.
_PLACES = frozenset({"due_lane", "due_key", "wake"})


class GroupChanged(Exception):  # noqa: N818  an answer: look again and decide anew
    """The group, or a job that was to change with it, is not what was read. Nothing was written.

    `failed` are the positions of the changes that were refused; the group's own is 0.
    """

    def __init__(self, failed: frozenset[int]) -> None:
        super().__init__("the group changed since it was read")
        self.failed = failed


class Groups:
    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, group_id: str) -> Group | None:
        record = self._table.get(keys.group(group_id))
        if record is None:
            return None
        codes = self._codes(record)
        return read_one(record, lambda each: group_of(each, codes))

    def _codes(self, record: Record) -> bytes:
        """Those that stand apart from the group. One that was replaced meanwhile is over, and needs them no more."""
        if "codes" in record:
            return b""
        group_id = keys.group_of_partition(cast("str", record["PK"])) or ""
        apart = self._table.get(keys.group_codes(group_id)) or {}
        if apart.get("stamp") != record.get("stamp"):
            return b""
        return decompressed(cast("bytes", apart["codes"]), cast("int", record.get("total", 0)))

    def newest(self, *, limit: int) -> Listed[Group]:
        """Groups by their creation, the newest first."""
        page = self._table.query(JOBS, LISTED, index=ENDED_INDEX, limit=limit, newest_first=True)
        # Who may write an item can put it into this lane: only a group's own key makes it one.
        places = (keys.group_of_partition(cast("str", each["PK"])) for each in page.records if each["SK"] == keys.GROUP)
        group_ids = [group_id for group_id in places if group_id is not None]
        read = read_each(self._table.get_many([keys.group(group_id) for group_id in group_ids]), group_of)
        found = {group.group_id: group for group in read.items}
        return Listed([found[group_id] for group_id in group_ids if group_id in found], read.unreadable)

    def begin(
        self,
        group: Group,
        callback: Job | None,
        replaced: Group | None,
        *,
        token: str,
        also: Sequence[Change] = (),
    ) -> bool:
        """Put a new group with what its end shall make; False if there is one, or no longer the one to replace."""
        as_read = None if replaced is None else (Equals("stamp", replaced.stamp), Exists("ended_at"))
        put = Put(key=keys.group(group.group_id), record=group_record(group), conditions=as_read)
        others: list[Change] = [*([] if callback is None else [_kept(group, callback)]), *also]
        if are_codes_apart(group):
            others.append(codes_put(group))
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
        try:
            self._table.write(change_of(seen, after))
        except ConditionFailed as failed:
            # A due key has its writer's own stamp: where it stands, only the response of our first try was lost.
            return after.due_key is not None and (failed.current or {}).get("due_key") == after.due_key
        return True

    def change_with(self, seen: Group, after: Group, changes: Sequence[Change], *, token: str) -> None:
        """Change the group together with jobs, or nothing of it: GroupChanged."""
        try:
            self._table.transact([change_of(seen, after), *changes], token=token)
        except TransactionCancelled as cancelled:
            raise GroupChanged(frozenset(cancelled.failed)) from None

    def callback(self, group_id: str) -> Job | None:
        """What the group's end shall make, as it was asked for."""
        record = self._table.get(keys.group_callback(group_id))
        return described_job(record, JobId(cast("str", record["job_id"]))) if record else None


def callback_used(group_id: str) -> Delete:
    """The job is made in the same transaction, or never: its own record goes."""
    return Delete(key=keys.group_callback(group_id), conditions=(Exists("PK"),))


def _kept(group: Group, callback: Job) -> Put:
    record = {name: value for name, value in job_record(callback).items() if name not in _PLACES}
    return Put(key=keys.group_callback(group.group_id), record=record, conditions=())


def _is_own(group: Group, current: Record | None) -> bool:
    """Whether an earlier try of ours made it, and only its response was lost."""
    return current is not None and current["stamp"] == group.stamp
