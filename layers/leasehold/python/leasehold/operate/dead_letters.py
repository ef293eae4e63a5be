"""Access patterns of dead letters: one per dead job, listed by date and type without a scan."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from leasehold.kernel import partitions
from leasehold.kernel.dead_letter import OPEN, dead_letter_of
from leasehold.kernel.errors import JobNotFoundError
from leasehold.kernel.keys import JobId, from_text, parse_job_id, to_text
from leasehold.kernel.payload import PURGED
from leasehold.kernel.records import encode
from leasehold.kernel.table import (
    BY_DATE_INDEX,
    BY_TYPE_INDEX,
    DEAD_LETTERS,
    Equals,
    Exists,
    Missing,
    Update,
)
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.trust import is_trusted, report
from leasehold.kernel.unreadable import read_each, read_one, report_unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.job import Job, Run
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record, Table

# More than one, since the oldest may be unreadable.
_LOOKED_AT = 10
_PAGE = 25


class DeadLetters:
    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, job_id: JobId) -> DeadLetter | None:
        record = self._table.get(partitions.dead_letter(job_id))
        return read_one(record, dead_letter_of) if record else None

    def mark_reported(self, job_id: JobId, at: datetime) -> bool:
        """Note that a dead letter's report was taken; False if that was noted before, or the dead letter is gone."""
        marked = Update(
            key=partitions.dead_letter(job_id),
            conditions=(Exists("id"), Missing("reported_at")),
            sets={"reported_at": to_text(at)},
        )
        return partitions.refusal(self._table, marked) is None

    def depth(self, *, limit: int) -> int:
        return self._table.count(DEAD_LETTERS, OPEN, index=BY_DATE_INDEX, limit=limit)

    def oldest_at(self) -> datetime | None:
        page = self._table.query(DEAD_LETTERS, OPEN, index=BY_DATE_INDEX, limit=_LOOKED_AT)
        read = read_each(page.records, lambda each: from_text(cast("str", each["open_key"]).partition("#")[0]))
        return read.items[0] if read.items else None

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


def shown(job: Job, services: Services) -> Job:
    """The job with its payload, or with a word in its place if that is gone."""
    if job.status is JobStatus.DEAD_LETTER and job.payload_name is not None:
        dead_letter = services.store.dead_letters.get(job.job_id)
        job = job if dead_letter is None else with_payload_of(dead_letter, job)
    return services.store.payloads.shown(job)


def with_payload_of(dead_letter: DeadLetter, job: Job) -> Job:
    """A dead job's own payload may have expired; its dead letter has a copy for as long as it is needed."""
    return job if job.payload_name is None else replace(job, read_payload=dead_letter.payload_text)


def is_trusted_dead_letter(dead_letter: DeadLetter, services: Services) -> bool:
    """A dead letter is told by its key, which is its job's id."""
    if dead_letter.original_job_id != dead_letter.id:
        report(dead_letter.id, f"this dead letter calls itself one of job {dead_letter.original_job_id}", services)
        return False
    return is_trusted(dead_letter.id, dead_letter.job_type, services)


def find_dead_letter(dead_letter_id: object, services: Services) -> DeadLetter:
    wanted = parse_job_id(dead_letter_id)
    dead_letter = services.store.dead_letters.get(wanted)
    if dead_letter is None or not is_trusted_dead_letter(dead_letter, services):
        raise JobNotFoundError("dead letter", wanted)
    return dead_letter


def open_dead_letters(
    services: Services,
    *,
    job_type: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    page_size: int = _PAGE,
    unreported: bool = False,
) -> Iterator[DeadLetter]:
    """Open dead letters of one type or of all, the oldest first, a page at a time; or only those nobody was told of.

    Costs half a read unit for each 4 KB of index entries, about 25 dead letters, and one or more for each found:
    of 10,000 dead letters that were all reported, those that were not are looked for with 200 units.
    """
    table = services.store.table
    read_page = partial(
        table.query,
        DEAD_LETTERS,
        OPEN if job_type is None else job_type,
        index=BY_DATE_INDEX if job_type is None else BY_TYPE_INDEX,
        first=to_text(start) if start else None,
        last=to_text(end) if end else None,
        limit=page_size,
    )
    for page in partitions.pages(read_page):
        wanted = (each for each in page.records if not (unreported and "reported_at" in each))
        listed = [JobId(cast("str", each["id"])) for each in wanted]
        read = read_each(table.get_many([partitions.dead_letter(job_id) for job_id in listed]), dead_letter_of)
        report_unreadable(read.unreadable, services)
        # The index may lag: what was resolved since is not listed.
        found = {each.id: each for each in read.items if each.is_open and not (unreported and each.reported_at)}
        dead_letters = (found[each] for each in listed if each in found)
        yield from (each for each in dead_letters if is_trusted_dead_letter(each, services))
