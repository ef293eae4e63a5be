"""Payloads that do not fit into their jobs: each in an item of its own, written once and before its job.

The item's name says its content, so that writing it twice is writing it once, and a job can never find another text
than it was made with. An item whose job was not written after all is in nobody's way, and expires.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from leasehold.domain.conditions import Exists
from leasehold.domain.errors import PAYLOAD_IS_LOST, PayloadMissingError, StoreError
from leasehold.domain.lean import dataclass
from leasehold.domain.payload import MISSING
from leasehold.domain.payload_form import apart, compact, fits_into_its_job, is_short, name_of, text_in, text_or
from leasehold.store import keys
from leasehold.store.partitions import records_in
from leasehold.store.table import ConditionFailed, Delete, Put, Update

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.domain.ids import JobId
    from leasehold.domain.job import Job
    from leasehold.domain.payload_form import Form
    from leasehold.store.table import Key, Table


@dataclass(frozen=True, slots=True)
class Layout:
    """A job as it is to be stored, and the item that has to be there before it; `item` is None if it holds all."""

    job: Job
    item: Put | None = None


def is_laid_out(job: Job) -> bool:
    """Whether its payload stands as it is to be stored: nearly all are short, and need nothing."""
    form = job.stored_payload
    return isinstance(form, bytes) or is_short(form)


def layout_of(job: Job, expires_at: int) -> Layout:
    """Where the payload of a new job goes. This is the one place that decides it."""
    if is_laid_out(job):
        return Layout(job)
    text = job.payload_text
    form = compact(text)
    if fits_into_its_job(form):
        return Layout(replace(job, stored_payload=form))
    name = name_of(text)
    # Without a condition: what stands under this name is this text, perhaps with less time to live.
    item = Put(key=keys.payload(job.job_id, name), record={"payload": form, "expires_at": expires_at}, conditions=())
    return Layout(replace(job, stored_payload=apart(name), read_payload=text), item)


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
        record = self._table.get(keys.payload(job.job_id, name))
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
        later = Update(key=keys.payload(job_id, name), conditions=(Exists("PK"),), sets={"expires_at": expires_at})
        try:
            self._table.write(later)
        except ConditionFailed:
            return False
        return True

    def names(self, job_id: JobId) -> list[str]:
        """All payloads that a job has or had: each edit leaves the one before it, until that expires."""
        return [cast("str", record["SK"]) for record in records_in(self._table, keys.payload_partition(job_id))]

    def delete(self, job_id: JobId, name: str) -> None:
        self._table.write(deletion(job_id, name))


def deletion(job_id: JobId, name: str) -> Delete:
    """One that is gone is as good as deleted."""
    return Delete(key=keys.payload(job_id, name), conditions=())


def _readable(job: Job) -> Job:
    """The job, with the word in the place of bytes in it that cannot be unpacked."""
    return replace(job, read_payload=MISSING) if text_or(None, job.stored_payload) is None else job


def _unread_item(job: Job) -> Key | None:
    name = job.payload_name
    return None if name is None or job.read_payload is not None else keys.payload(job.job_id, name)
