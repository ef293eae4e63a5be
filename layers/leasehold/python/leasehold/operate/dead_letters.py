"""Access patterns of dead letters: one per dead job, listed by date and type without a scan."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, cast

from leasehold.kernel import partitions
from leasehold.kernel.dead_letter import OPEN, Resolution, dead_letter_of
from leasehold.kernel.keys import JobId, from_text, to_text
from leasehold.kernel.payload import PURGED
from leasehold.kernel.records import encode
from leasehold.kernel.table import (
    BY_DATE_INDEX,
    BY_TYPE_INDEX,
    DEAD_LETTERS,
    ConditionFailed,
    Equals,
    Exists,
    Missing,
    TransactionCancelled,
    Update,
    request_token,
)
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.unreadable import read_each, read_one
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.audit.records import Audit
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.job import Job, Run
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change, Record, Table
    from leasehold.kernel.unreadable import Unreadable

# More than one, since the oldest may be unreadable.
_LOOKED_AT = 10
_INDEX_KEYS = frozenset({"open", "open_type", "open_key"})


class AlreadyResolved(Exception):  # noqa: N818  an answer: somebody else was first
    def __init__(self, dead_letter: DeadLetter | None) -> None:
        super().__init__("the dead letter is resolved already, or gone")
        self.dead_letter = dead_letter


@dataclass(frozen=True, slots=True)
class DeadLetterPage:
    dead_letters: list[DeadLetter]
    cursor: Record | None
    unreadable: list[Unreadable] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedBy:
    by: str
    at: datetime
    reason: str
    # When the resolved record may go, in epoch seconds.
    expires_at: int


class DeadLetters:
    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, job_id: JobId) -> DeadLetter | None:
        record = self._table.get(partitions.dead_letter(job_id))
        return read_one(record, dead_letter_of) if record else None

    def open(
        self,
        *,
        job_type: str | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int,
        after: Record | None = None,
        newest_first: bool = False,
    ) -> DeadLetterPage:
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
        found, unreadable = self._dead_letters([JobId(cast("str", entry["id"])) for entry in page.records])
        # The index may lag: what was resolved since is not listed.
        return DeadLetterPage([each for each in found if each.is_open], page.cursor, unreadable)

    def unreported(self, *, start: datetime, end: datetime, limit: int, after: Record | None = None) -> DeadLetterPage:
        """Open dead letters that nobody was told of, by date.

        Costs half a read unit for each 4 KB of index entries, about 25 dead letters, and one or more for each found:
        10,000 dead letters that were all reported are read for 200 units.
        """
        first, last = to_text(start), to_text(end)
        page = self._table.query(
            DEAD_LETTERS, OPEN, index=BY_DATE_INDEX, first=first, last=last, limit=limit, after=after
        )
        listed = [JobId(cast("str", entry["id"])) for entry in page.records if "reported_at" not in entry]
        found, unreadable = self._dead_letters(listed)
        untold = [each for each in found if each.is_open and each.reported_at is None]
        return DeadLetterPage(untold, page.cursor, unreadable)

    def mark_reported(self, job_id: JobId, at: datetime) -> bool:
        """Note that a dead letter's report was taken; False if that was noted before, or the dead letter is gone."""
        marked = Update(
            key=partitions.dead_letter(job_id),
            conditions=(Exists("id"), Missing("reported_at")),
            sets={"reported_at": to_text(at)},
        )
        try:
            self._table.write(marked)
        except ConditionFailed:
            return False
        return True

    def depth(self, *, limit: int) -> int:
        return self._table.count(DEAD_LETTERS, OPEN, index=BY_DATE_INDEX, limit=limit)

    def oldest_at(self) -> datetime | None:
        page = self._table.query(DEAD_LETTERS, OPEN, index=BY_DATE_INDEX, limit=_LOOKED_AT)
        read = read_each(page.records, lambda each: from_text(cast("str", each["open_key"]).partition("#")[0]))
        return read.items[0] if read.items else None

    def redrive(
        self, job_id: JobId, by: ResolvedBy, redriven_as: JobId, changes: Sequence[Change], audit: Audit
    ) -> None:
        """Resolve a dead letter together with the changes that make its new job, and the record of who wanted it."""
        resolved = _resolved(job_id, Resolution.REDRIVEN, by, redriven_as)
        self._resolve(resolved, [*changes, *audit.changes], audit)

    def discard(self, job_id: JobId, by: ResolvedBy, audit: Audit) -> None:
        """Resolve a dead letter with the record of who wanted it."""
        self._resolve(_resolved(job_id, Resolution.DISCARDED, by, None), audit.changes, audit)

    def purged(self, dead_letter: DeadLetter, runs: tuple[Run, ...]) -> Update:
        """A dead letter without its content, as a change that belongs to a transaction."""
        sets: Record = {"payload": PURGED, "failure_reason": "purged"}
        if runs:
            sets["runs"] = encode(runs)
        return Update(
            key=partitions.dead_letter(dead_letter.id),
            conditions=(Equals("failed_at", to_text(dead_letter.failed_at)),),
            sets=sets,
            removes=frozenset({"trace"}),
        )

    def _resolve(self, resolved: Update, others: Sequence[Change], audit: Audit) -> None:
        changes = [resolved, *others]
        try:
            self._table.transact(changes, token=request_token(audit.head))
        except TransactionCancelled as cancelled:
            if not audit.stands_in(cancelled, changes.index(audit.move), self._table):
                if 0 not in cancelled.failed:
                    raise
                current = cancelled.failed[0]
                raise AlreadyResolved(dead_letter_of(current) if current else None) from None
        audit.keep(self._table)

    def _dead_letters(self, listed: Sequence[JobId]) -> tuple[list[DeadLetter], list[Unreadable]]:
        """The dead letters of an index page, in its order; one that is gone is left out."""
        read = read_each(self._table.get_many([partitions.dead_letter(job_id) for job_id in listed]), dead_letter_of)
        found = {dead_letter.id: dead_letter for dead_letter in read.items}
        return [found[each] for each in listed if each in found], read.unreadable


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
        key=partitions.dead_letter(job_id),
        conditions=(Exists("id"), Missing("resolution")),
        sets=sets,
        removes=_INDEX_KEYS,
    )


def shown(job: Job, services: Services) -> Job:
    """The job with its payload, or with a word in its place if that is gone."""
    if job.status is JobStatus.DEAD_LETTER and job.payload_name is not None:
        dead_letter = services.store.dead_letters.get(job.job_id)
        job = job if dead_letter is None else with_payload_of(dead_letter, job)
    return services.store.payloads.shown(job)


def with_payload_of(dead_letter: DeadLetter, job: Job) -> Job:
    """A dead job's own payload may have expired; its dead letter has a copy for as long as it is needed."""
    return job if job.payload_name is None else replace(job, read_payload=dead_letter.payload_text)
