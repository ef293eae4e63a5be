"""Audit records: who did what to what, chained per target, written in the same transaction as the deed.

A record is put once and never changed. The head of each chain is an item of its own, in one partition for each kind of
targets: it outlives its target, and whoever wants to know that no chain was cut reads these partitions.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.domain.conditions import Equals
from leasehold.domain.instants import from_text, to_text
from leasehold.domain.lean import dataclass
from leasehold.store import keys
from leasehold.store.definition import ENDED_INDEX, JOBS
from leasehold.store.partitions import records_in
from leasehold.store.table import Put, TransactionCancelled, Update

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from leasehold.store.table import Change, Record, Table

# The lane of the ended index that lists all records by date.
ALL = "audit"
# As fine as a date is written.
_ONE_STEP = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """An action that leaves a record: by whom, when, why, and what it changed."""

    target: str
    action: str
    by: str
    at: datetime
    reason: str
    details: str
    deed_id: str


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A deed as it was recorded. `previous` is the head of its chain before it, `head` the one after it."""

    deed: Deed
    previous: str
    head: str

    @property
    def is_sound(self) -> bool:
        """Whether the head is what the record says it is made of."""
        return self.head == head_of(self.deed, self.previous)


@dataclass(frozen=True, slots=True)
class Audit:
    """The record of a deed and the move of its chain's head, to be made together with the deed; and that head."""

    record: Put
    move: Update
    head: str

    @property
    def changes(self) -> list[Change]:
        return [self.record, self.move]

    def stands_in(self, cancelled: TransactionCancelled, position: int) -> bool:
        """Whether a transaction was cancelled because an earlier try of it succeeded, and its response was lost."""
        return cast("Record", cancelled.failed.get(position) or {}).get("head") == self.head


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The end of a target's chain, and when it was written."""

    target: str
    digest: str
    at: datetime


@dataclass(frozen=True, slots=True)
class AuditPage:
    records: list[AuditRecord]
    cursor: Record | None


class Audits:
    def __init__(self, table: Table) -> None:
        self._table = table

    def head(self, target: str) -> str:
        """The head of a target's chain; empty where there is none."""
        record = self._table.get(keys.audit_head(target))
        return cast("str", record["head"]) if record else ""

    def audit(self, deed: Deed, *, is_first: bool = False) -> Audit:
        """What to write with the deed. It holds only as long as nobody else does something to the target.

        is_first: the deed makes its target, so that nothing was done to it yet.
        Whoever was overtaken by somebody else, or has a slower clock, is dated after the entry that stands before:
        dates grow along a chain.
        """
        key = keys.audit_head(deed.target)
        found = None if is_first else self._table.get(key)
        previous = cast("str", found["head"]) if found else ""
        if found is not None:
            deed = replace(deed, at=max(deed.at, from_text(cast("str", found["at"])) + _ONE_STEP))
        record, head = audited(deed, previous)
        move = Update(
            key=key,
            conditions=(Equals("head", previous),) if previous else (key.is_absent,),
            sets={"head": head, "at": to_text(deed.at)},
        )
        return Audit(record, move, head)

    def commit(self, changes: Sequence[Change], audit: Audit, *, token: str) -> bool:
        """Make changes together with their record; False if their target is not, or no longer, what was read."""
        try:
            self._table.transact([*changes, *audit.changes], token=token)
        except TransactionCancelled as cancelled:
            return audit.stands_in(cancelled, len(changes))
        return True

    def trail(self, target: str, *, limit: int, after: Record | None = None, newest_first: bool = False) -> AuditPage:
        """What was done to one target."""
        page = self._table.query(
            JOBS, keys.audit_partition(target), limit=limit, after=after, newest_first=newest_first
        )
        return AuditPage([audit_record_of(each) for each in page.records], page.cursor)

    def recent(self, *, limit: int, after: Record | None = None) -> AuditPage:
        """What was done to anything, the newest first. Needs the ended index."""
        page = self._table.query(JOBS, ALL, index=ENDED_INDEX, limit=limit, after=after, newest_first=True)
        wanted = [(cast("str", each["PK"]), cast("str", each["SK"])) for each in page.records]
        found = {
            (cast("str", each["PK"]), cast("str", each["SK"])): audit_record_of(each)
            for each in self._table.get_many([keys.audit_record(pk, sk) for pk, sk in wanted])
        }
        return AuditPage([found[each] for each in wanted if each in found], page.cursor)

    def heads(self) -> Iterator[Head]:
        """Every target that something was ever done to, by kind and name, with the head of its chain."""
        for kind in keys.AUDIT_KINDS:
            for record in records_in(self._table, keys.audit_heads(kind)):
                yield head_of_record(record)


def audited(deed: Deed, previous: str) -> tuple[Put, str]:
    """The record of a deed, and the head of its target's chain from then on."""
    head = head_of(deed, previous)
    record: Record = {
        "action": deed.action,
        "by": deed.by,
        "at": to_text(deed.at),
        "reason": deed.reason,
        "details": deed.details,
        "previous": previous,
        "head": head,
        "ended_lane": ALL,
        "ended_key": f"{to_text(deed.at)}#{deed.deed_id}",
    }
    return Put(key=keys.audit(deed.target, to_text(deed.at), deed.deed_id), record=record), head


def head_of(deed: Deed, previous: str) -> str:
    """A hash over the deed and the head before it: a record that is changed, removed or moved breaks the chain."""
    said = [deed.target, deed.deed_id, deed.action, deed.by, to_text(deed.at), deed.reason, deed.details, previous]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def audit_record_of(record: Record) -> AuditRecord:
    at, _, deed_id = cast("str", record["SK"]).partition("#")
    deed = Deed(
        target=keys.target_of_audit(cast("str", record["PK"])),
        action=cast("str", record["action"]),
        by=cast("str", record["by"]),
        at=from_text(at),
        reason=cast("str", record["reason"]),
        details=cast("str", record["details"]),
        deed_id=deed_id,
    )
    return AuditRecord(deed, cast("str", record["previous"]), cast("str", record["head"]))


def head_of_record(record: Record) -> Head:
    return Head(
        target=cast("str", record["SK"]), digest=cast("str", record["head"]), at=from_text(cast("str", record["at"]))
    )
