"""Deduplication: a window says how long a key is held, a record which job holds it; it moves together with that job."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from leasehold import features
from leasehold.kernel import partitions
from leasehold.kernel.enqueue import Enqueued, OnDuplicate
from leasehold.kernel.errors import (
    DuplicateJobError,
    InvalidOptionError,
    StoreError,
    StoreUnavailableError,
    TimeOutOfRangeError,
)
from leasehold.kernel.job import NO_WINDOW, DedupRef
from leasehold.kernel.jobs import insertion
from leasehold.kernel.keys import EPOCH, from_text, job_id_of_key, key_of, to_text
from leasehold.kernel.offload import behind_its_item, plan_offload
from leasehold.kernel.records import texts_in
from leasehold.kernel.table import Equals, Put, TransactionCancelled, Update, request_token
from leasehold.kernel.times import instant, later
from leasehold.kernel.transitions import CANCEL
from leasehold.kernel.trust import is_trusted
from leasehold.kernel.type_options import parse_key
from leasehold.lean import dataclass
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.audit.records import AuditEntry
    from leasehold.kernel.enqueue import Draft
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change, Condition, Record, Table

# A dedup record must outlive the job it points to; TTL deletes within days, in no promised order.
_OUTLIVES_BY = timedelta(days=7)
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Day:
    """One job per calendar day of a timezone, the day that `scheduled_for` falls on."""

    timezone: str = "UTC"

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            fix = "Use an IANA name like Europe/Berlin."
            raise InvalidOptionError(self.timezone, "there is no such timezone", fix) from None


@dataclass(frozen=True, slots=True)
class Within:
    """One job per stretch of time, counted from `scheduled_for`."""

    duration: timedelta

    def __post_init__(self) -> None:
        if self.duration <= timedelta(0):
            raise InvalidOptionError(self.duration, "a dedup window is longer than nothing", "Leave it out instead.")


@dataclass(frozen=True, slots=True)
class UntilEnded:
    """The key is free again as soon as the job has ended."""


type DedupWindow = Day | Within | UntilEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupRecord:
    ref: DedupRef
    job_id: JobId
    window_until: datetime

    def is_over(self, now: datetime) -> bool:
        return self.window_until <= now


def dedup_record(
    job_type: str, key: str | None, window: DedupWindow | None, scheduled_for: datetime, job_id: JobId
) -> DedupRecord:
    if key is None:
        raise InvalidOptionError(window, "dedup_window without a dedup_key does nothing", "Pass a key.")
    parse_key(key, "dedup key")
    match window:
        case None | UntilEnded():
            name, until = NO_WINDOW, EPOCH
        case Within(duration):
            name, until = NO_WINDOW, later(scheduled_for, duration, what="the end of the dedup window")
        case Day(timezone):
            name, until = _day_of(scheduled_for, ZoneInfo(timezone))
        case _:
            raise InvalidOptionError(window, "this is no dedup window", "Use Day(...), Within(...) or UntilEnded().")
    return DedupRecord(ref=DedupRef(job_type, key, name), job_id=job_id, window_until=until)


def _day_of(scheduled_for: datetime, zone: ZoneInfo) -> tuple[str, datetime]:
    try:
        day = scheduled_for.astimezone(zone).date()
        midnight = datetime.combine(day + timedelta(days=1), time(), tzinfo=zone)
    except OverflowError:
        problem = "the end of the dedup window is after the year 9999"
        raise TimeOutOfRangeError(scheduled_for, problem, "Choose an earlier time.") from None
    return day.isoformat(), instant(midnight, what="the end of the dedup window")


# --- a new job with a key


def write_deduplicated(
    drafted: Draft, services: Services, on_duplicate: OnDuplicate, successor_of: JobId | None, entry: AuditEntry | None
) -> Enqueued:
    job, record = drafted.job, drafted.record
    assert record is not None
    offload, dedups = plan_offload(job, services), services.store.dedups
    for _ in range(_TRIES):
        replaced: Job | None = None
        audit = features.audit_of_new_job(entry, job, services) if entry else None
        also = audit.changes if audit else []
        with suppress(PointerMoved):
            # Looked up first only where a payload would be written in vain: that costs more than a look.
            holder = None if offload.item is None else dedups.get(record.ref)
            if holder is None:
                holder = dedups.put(behind_its_item(offload, services), record, None, also)
            if holder is not None and holder.job_id != job.job_id:
                existing = job_of_holder(holder, services)
                replaced = None if is_free(holder, existing, services) or holder.job_id == successor_of else existing
                if replaced is not None and on_duplicate is OnDuplicate.RAISE:
                    raise DuplicateJobError(job.job_type, record.ref.key, holder.job_id)
                if replaced is not None and (on_duplicate is not OnDuplicate.REPLACE or not replaced.status.is_waiting):
                    return Enqueued(job_id=holder.job_id, created=False)
                new, ending = behind_its_item(offload, services), None
                if replaced is not None:
                    from leasehold.kernel.end import Ending

                    # Its key belongs to the new job by then.
                    ending = Ending(replace(replaced, dedup=None), CANCEL, services, reason=f"replaced by {job.job_id}")
                dedups.put(new, record, holder, [*(ending.changes if ending else ()), *also])
                if ending is not None:
                    ending.concluded()
            if audit is not None:
                audit.keep(services.store.table)
            return Enqueued(job_id=job.job_id, created=True, replaced=replaced.job_id if replaced else None)
    raise StoreUnavailableError(
        f"dedup key {record.ref.key!r} of {job.job_type} changed hands {_TRIES} times during one enqueue; try again"
    )


def job_of_holder(holder: DedupRecord, services: Services) -> Job | None:
    """The job that a dedup record points to, if that is one of its type: else the record holds nothing."""
    job = services.store.jobs.get(holder.job_id) if is_trusted(holder.job_id, holder.ref.job_type, services) else None
    return job if job is not None and job.job_type == holder.ref.job_type else None


def is_free(holder: DedupRecord, existing: Job | None, services: Services) -> bool:
    """A key is held until its job has ended and its window is over."""
    return existing is None or (existing.has_ended and holder.is_over(services.clock.now()))


# --- the record


class PointerMoved(Exception):  # noqa: N818  an answer: look again and decide anew
    """The dedup record, or the job it points to, is no longer what was read."""


class Dedups:
    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, ref: DedupRef) -> DedupRecord | None:
        record = self._table.get(partitions.dedup(ref))
        return dedup_record_of(ref, record) if record else None

    def put(
        self, job: Job, record: DedupRecord, seen: DedupRecord | None, also: Sequence[Change]
    ) -> DedupRecord | None:
        """Put a job and point the record at it, if that still is as it was seen; None where it was not there.

        Where there was none and is one now, that is returned, which holds the key.
        """
        changes = [*(insertions(job, record) if seen is None else (repointed(record, seen), insertion(job))), *also]
        # Tokens of their own: the same token with other changes is refused for ten minutes.
        said = (job.job_id, "insert", *map(repr, also)) if seen is None else (repr(changes),)
        try:
            self._table.transact(changes, token=request_token(*said))
        except TransactionCancelled as cancelled:
            holder = cancelled.failed.get(0)
            if holder is None and seen is None and 0 in cancelled.failed:
                raise StoreError(
                    f"dedup key {record.ref.key!r} of {job.job_type} was used before, and this program may not look at "
                    "what holds it. Give it `grant_deduplicate` besides `grant_enqueue`."
                ) from None
            pointed = dedup_record_of(record.ref, holder) if holder else None
            if pointed is not None and pointed.job_id == job.job_id:
                return None
            if pointed is None or seen is not None:
                raise PointerMoved from None
            return pointed
        return None


def retire_dedup_record(job: Job, expires_at: object, services: Services) -> None:
    """Let the record go some time after its job, which goes at `expires_at`. Kept too long, it only uses storage."""
    if job.dedup is None or not isinstance(expires_at, int):
        return
    sets: Record = {"expires_at": expires_at + int(_OUTLIVES_BY.total_seconds())}
    try:
        # Refused, it belongs to another job now.
        change = Update(key=partitions.dedup(job.dedup), conditions=_points_to(job.job_id), sets=sets)
        partitions.refusal(services.store.table, change)
    except StoreError as error:
        services.telemetry.event(Event.TIDY_FAILED, job_id=job.job_id, what="dedup record", error=str(error))


def insertions(job: Job, record: DedupRecord) -> list[Change]:
    return [Put(key=partitions.dedup(record.ref), record=dedup_record_record(record)), insertion(job)]


def repointed(record: DedupRecord, seen: DedupRecord) -> Update:
    return Update(
        key=partitions.dedup(record.ref),
        conditions=_points_to(seen.job_id),
        sets=dedup_record_record(record),
        # The old job's end may have set a date for the record to go; the new job needs it again.
        removes=frozenset({"expires_at"}),
    )


def _points_to(job_id: JobId) -> tuple[Condition, ...]:
    key = key_of(job_id)
    return Equals("job_pk", key.pk), Equals("job_sk", key.sk)


def dedup_record_record(record: DedupRecord) -> Record:
    job_key = key_of(record.job_id)
    return {"job_pk": job_key.pk, "job_sk": job_key.sk, "window_until": to_text(record.window_until)}


def dedup_record_of(ref: DedupRef, record: Record) -> DedupRecord:
    job_sk, window_until = texts_in(record, ("job_sk", "window_until"))
    return DedupRecord(ref=ref, job_id=job_id_of_key(job_sk), window_until=from_text(window_until))
