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
from leasehold.kernel.table import ConditionFailed, Delete, Put
from leasehold.lean import dataclass
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.payload import Form
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record, Table


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
