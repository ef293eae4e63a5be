"""Access patterns of dedup records: each moves together with the job it points to."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.kernel import partitions
from leasehold.kernel.dedup import DedupRecord, DedupRef
from leasehold.kernel.job import Reader
from leasehold.kernel.jobs import insertion
from leasehold.kernel.keys import from_text, job_id_of_key, key_of, to_text
from leasehold.kernel.table import ConditionFailed, Equals, Put, TransactionCancelled, Update, request_token

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.job import Job
    from leasehold.kernel.table import Change, Record, Table


class PointerMoved(Exception):  # noqa: N818  an answer: look again and decide anew
    """The dedup record, or the job it points to, is no longer what was read."""


class Dedups:
    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, ref: DedupRef) -> DedupRecord | None:
        record = self._table.get(partitions.dedup(ref))
        return dedup_record_of(ref, record) if record else None

    def insert(self, job: Job, record: DedupRecord, also: Sequence[Change] = ()) -> DedupRecord | None:
        """Put a job and its record where there is no record; else return the one that holds the key."""
        token = request_token(job.job_id, "insert", *map(repr, also))
        try:
            self._table.transact([*insertions(job, record), *also], token=token)
        except TransactionCancelled as cancelled:
            holder = cancelled.failed.get(0)
            if holder is None:
                raise PointerMoved from None
            pointed = dedup_record_of(record.ref, holder)
            return None if pointed.job_id == job.job_id else pointed
        return None

    def take_over(self, job: Job, record: DedupRecord, seen: DedupRecord, also: Sequence[Change] = ()) -> None:
        """Point the record at a new job, if it still points where it was seen to point."""
        self._move([repointed(record, seen), insertion(job), *also], job)

    def replace(
        self, cancel: Sequence[Change], job: Job, record: DedupRecord, seen: DedupRecord, also: Sequence[Change] = ()
    ) -> None:
        """Cancel the job that holds the key, put another, and point the record at it: all or nothing."""
        self._move([repointed(record, seen), insertion(job), *cancel, *also], job)

    def retire(self, ref: DedupRef, job: Job, expires_at: int) -> None:
        """Let the record expire some time after the job that it points to."""
        pointer = key_of(job.job_id)
        try:
            self._table.write(
                Update(
                    key=partitions.dedup(ref),
                    conditions=(Equals("job_pk", pointer.pk), Equals("job_sk", pointer.sk)),
                    sets={"expires_at": expires_at},
                )
            )
        except ConditionFailed:
            return  # it belongs to another job now

    def _move(self, changes: list[Change], job: Job) -> None:
        # Not the insert's token: the same token with other changes is refused for ten minutes.
        try:
            self._table.transact(changes, token=request_token(repr(changes)))
        except TransactionCancelled as cancelled:
            holder = cancelled.failed.get(0) or {}
            if cast("str | None", holder.get("job_sk")) != key_of(job.job_id).sk:
                raise PointerMoved from None


def insertions(job: Job, record: DedupRecord) -> list[Change]:
    return [
        Put(key=partitions.dedup(record.ref), record=dedup_record_record(record, key_of(record.job_id))),
        insertion(job),
    ]


def repointed(record: DedupRecord, seen: DedupRecord) -> Update:
    old, new = key_of(seen.job_id), key_of(record.job_id)
    return Update(
        key=partitions.dedup(record.ref),
        conditions=(Equals("job_pk", old.pk), Equals("job_sk", old.sk)),
        sets={"job_pk": new.pk, "job_sk": new.sk, "window_until": to_text(record.window_until)},
        # The old job's end may have set a date for the record to go; the new job needs it again.
        removes=frozenset({"expires_at"}),
    )


def dedup_record_record(record: DedupRecord, job_key: tuple[str, str]) -> Record:
    return {"job_pk": job_key[0], "job_sk": job_key[1], "window_until": to_text(record.window_until)}


def dedup_record_of(ref: DedupRef, record: Record) -> DedupRecord:
    read = Reader(record)
    return DedupRecord(
        ref=ref, job_id=job_id_of_key(read.text("job_sk")), window_until=from_text(read.text("window_until"))
    )
