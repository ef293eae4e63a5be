"""Access patterns of dead letters: one per dead job, listed by date and type without a scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from leasehold.domain.conditions import Exists, Missing
from leasehold.domain.dead_letter import Resolution
from leasehold.domain.ids import JobId
from leasehold.domain.instants import from_text, to_text
from leasehold.store import keys
from leasehold.store.definition import BY_DATE_INDEX, BY_TYPE_INDEX, DEAD_LETTERS
from leasehold.store.records import OPEN, dead_letter_of
from leasehold.store.table import ConditionFailed, TransactionCancelled, Update

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.domain.dead_letter import DeadLetter
    from leasehold.store.table import Change, Record, Table

_INDEX_KEYS = frozenset({"open", "open_type", "open_key"})


class AlreadyResolved(Exception):  # noqa: N818  an answer: somebody else was first
    def __init__(self, letter: DeadLetter | None) -> None:
        super().__init__("the dead letter is resolved already, or gone")
        self.letter = letter


@dataclass(frozen=True, slots=True)
class LetterPage:
    letters: list[DeadLetter]
    cursor: Record | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedBy:
    by: str
    at: datetime
    reason: str
    # When the resolved record may go, in epoch seconds.
    expires_at: int


class Letters:
    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, job_id: JobId) -> DeadLetter | None:
        record = self._table.get(keys.dead_letter(job_id))
        return dead_letter_of(record) if record else None

    def open(
        self,
        *,
        job_type: str | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int,
        after: Record | None = None,
        newest_first: bool = False,
    ) -> LetterPage:
        """Unresolved dead letters of one type or of all, by date."""
        index, partition = (BY_DATE_INDEX, OPEN) if job_type is None else (BY_TYPE_INDEX, job_type)
        page = self._table.query(
            DEAD_LETTERS,
            partition,
            index=index,
            first=to_text(start) if start else None,
            last=to_text(end) if end else None,
            limit=limit,
            after=after,
            newest_first=newest_first,
        )
        listed = [JobId(cast("str", entry["id"])) for entry in page.records]
        records = self._table.get_many([keys.dead_letter(job_id) for job_id in listed])
        found = {letter.id: letter for letter in map(dead_letter_of, records)}
        # The index may lag: what was resolved since is not listed.
        return LetterPage([found[each] for each in listed if each in found and found[each].is_open], page.cursor)

    def depth(self, *, limit: int) -> int:
        return self._table.count(DEAD_LETTERS, OPEN, index=BY_DATE_INDEX, limit=limit)

    def oldest_at(self) -> datetime | None:
        page = self._table.query(DEAD_LETTERS, OPEN, index=BY_DATE_INDEX, limit=1)
        return from_text(cast("str", page.records[0]["open_key"]).partition("#")[0]) if page.records else None

    def redrive(self, job_id: JobId, by: ResolvedBy, redriven_as: JobId, changes: Sequence[Change]) -> None:
        """Resolve a letter together with the changes that make its new job."""
        try:
            self._table.transact([_resolved(job_id, Resolution.REDRIVEN, by, redriven_as), *changes], token=redriven_as)
        except TransactionCancelled as cancelled:
            if 0 not in cancelled.failed:
                raise
            current = cancelled.failed[0]
            letter = dead_letter_of(current) if current else None
            if letter is None or letter.redriven_as != redriven_as:
                raise AlreadyResolved(letter) from None

    def discard(self, job_id: JobId, by: ResolvedBy) -> DeadLetter:
        try:
            return dead_letter_of(self._table.write(_resolved(job_id, Resolution.DISCARDED, by, None)))
        except ConditionFailed as failed:
            raise AlreadyResolved(dead_letter_of(failed.current) if failed.current else None) from None


def _resolved(job_id: JobId, how: Resolution, by: ResolvedBy, redriven_as: JobId | None) -> Update:
    sets: Record = {
        "resolution": str(how),
        "resolved_by": by.by,
        "resolved_at": to_text(by.at),
        "resolved_reason": by.reason,
        "expires_at": by.expires_at,
    }
    if redriven_as is not None:
        sets["redriven_as"] = redriven_as
    return Update(
        key=keys.dead_letter(job_id),
        conditions=(Exists("id"), Missing("resolution")),
        sets=sets,
        removes=_INDEX_KEYS,
    )
