"""Payloads that do not fit into their jobs: each in an item of its own, written once and before its job.

The item's name says its content, so that writing it twice is writing it once, and a job can never find another text
than it was made with. An item whose job was not written after all is in nobody's way, and expires.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from leasehold.kernel import partitions
from leasehold.kernel.errors import (
    PAYLOAD_IS_LOST,
    PayloadMissingError,
    RecordUnreadableError,
    StoreError,
    UnknownFormatError,
)
from leasehold.kernel.partitions import records_in
from leasehold.kernel.payload import MISSING
from leasehold.kernel.payload_forms import text_in, text_or
from leasehold.kernel.table import ConditionFailed, Delete, Exists, Put, Update
from leasehold.kernel.transitions import JobStatus
from leasehold.lean import dataclass
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.payload import Form
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Key, Record, Table


class Payloads:
    def __init__(self, table: Table) -> None:
        self._table = table

    def put(self, item: Put) -> None:
        self._table.write(item)

    def insert(self, item: Put) -> None:
        """Put an item of a job that is new, without the right to overwrite one: where it is, a try before wrote it."""
        (answer,) = self._table.insert_many([item])
        if answer is not None and not isinstance(answer, ConditionFailed):
            raise answer

    def put_many(self, items: Sequence[Put]) -> list[Exception | None]:
        """Put each item, in as few calls as possible; per item None, or the error that stopped it."""
        answers = self._table.insert_many(items)
        for position, answer in enumerate(answers):
            if isinstance(answer, ConditionFailed):
                # There already, by a try whose response was lost, or of an older job of this id: its time counts anew.
                answers[position] = self._put_again(items[position])
        return answers

    def _put_again(self, item: Put) -> Exception | None:
        try:
            self._table.write(item)
        except StoreError as error:
            return error
        return None

    def read(self, job: Job) -> Job:
        """The job with its payload; PayloadMissingError if that stood apart and is gone."""
        name = job.payload_name
        if name is None or job.read_payload is not None:
            return job
        record = self._table.get(partitions.payload(job.job_id, name))
        if record is None:
            raise PayloadMissingError(job.job_id, name)
        return replace(job, read_payload=text_in(cast("Form", record["payload"])))

    def shown(self, job: Job) -> Job:
        """The job with its payload, or with a word in its place if that is gone, for people who look at it."""
        try:
            return _readable(self.read(job))
        except PAYLOAD_IS_LOST:
            return replace(job, read_payload=MISSING)

    def shown_many(self, jobs: Sequence[Job]) -> list[Job]:
        """As `shown`, in as few calls as possible."""
        wanted = [key for job in jobs if (key := _unread_item(job)) is not None]
        records = self._table.get_many(wanted) if wanted else []
        texts: dict[tuple[str, ...], str] = {
            (cast("str", record["PK"]), cast("str", record["SK"])): text_or(MISSING, cast("Form", record["payload"]))
            for record in records
        }
        return [
            _readable(job)
            if (key := _unread_item(job)) is None
            else replace(job, read_payload=texts.get(key.values, MISSING))
            for job in jobs
        ]

    def renew(self, job_id: JobId, name: str, expires_at: int) -> bool:
        """Let an item live longer; False if it is gone. It is billed like its first writing."""
        later = Update(
            key=partitions.payload(job_id, name), conditions=(Exists("PK"),), sets={"expires_at": expires_at}
        )
        try:
            self._table.write(later)
        except ConditionFailed:
            return False
        return True

    def names(self, job_id: JobId) -> list[str]:
        """All payloads that a job has or had: each edit leaves the one before it, until that expires."""
        return [cast("str", record["SK"]) for record in records_in(self._table, partitions.payload_partition(job_id))]

    def delete(self, job_id: JobId, name: str) -> None:
        self._table.write(deletion(job_id, name))


def deletion(job_id: JobId, name: str) -> Delete:
    """One that is gone is as good as deleted."""
    return Delete(key=partitions.payload(job_id, name), conditions=())


def _readable(job: Job) -> Job:
    """The job, with the word in the place of bytes in it that cannot be unpacked."""
    return replace(job, read_payload=MISSING) if text_or(None, job.stored_payload) is None else job


def _unread_item(job: Job) -> Key | None:
    name = job.payload_name
    return None if name is None or job.read_payload is not None else partitions.payload(job.job_id, name)


def shown(job: Job, services: Services) -> Job:
    """The job with its payload, or with a word in its place if that is gone."""
    if job.status is JobStatus.DEAD_LETTER and job.payload_name is not None:
        dead_letter = services.store.dead_letters.get(job.job_id)
        job = job if dead_letter is None else with_payload_of(dead_letter, job)
    return services.store.payloads.shown(job)


def with_payload_of(dead_letter: DeadLetter, job: Job) -> Job:
    """A dead job's own payload may have expired; its dead letter has a copy for as long as it is needed."""
    return job if job.payload_name is None else replace(job, read_payload=dead_letter.payload_text)


def readable[Item](listed: Listed[Item], services: Services) -> list[Item]:
    """What can be read of a listing; the rest is reported, and hides nothing."""
    report_unreadable(listed.unreadable, services)
    return listed.items


def report_unreadable(unreadable: Sequence[Unreadable], services: Services) -> None:
    for each in unreadable:
        services.telemetry.event(Event.RECORD_UNREADABLE, key=each.key, problem=each.problem)


_LONGEST_PROBLEM = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """`key` is where it stands in its table, for whoever repairs it."""

    key: str
    problem: str


@dataclass(frozen=True, slots=True)
class Listed[Item]:
    items: list[Item]
    unreadable: list[Unreadable]


def read_each[Item](records: Iterable[Record], read: Callable[[Record], Item]) -> Listed[Item]:
    listed: Listed[Item] = Listed([], [])  # Python 3.12 cannot make one in brackets: it has slots
    for record in records:
        try:
            listed.items.append(read(record))
        except Exception as error:  # whatever a reader says of what nobody meant to write
            listed.unreadable.append(Unreadable(key=key_text(record), problem=problem_text(error)))
    return listed


def read_one[Item](record: Record, read: Callable[[Record], Item]) -> Item:
    """RecordUnreadableError where it cannot be read."""
    try:
        return read(record)
    except UnknownFormatError:
        raise
    except Exception as error:
        raise RecordUnreadableError(key_text(record), problem_text(error)) from error


def key_text(record: Record) -> str:
    """
    >>> key_text({"PK": "schedule", "SK": "nightly"}), key_text({"id": "0194"})
    ('schedule nightly', '0194')
    """
    return " ".join(str(record[name]) for name in ("PK", "SK", "id") if name in record)


def problem_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:_LONGEST_PROBLEM]
