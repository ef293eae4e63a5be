"""Domain values to records and back. Unset attributes are left out: every byte is billed."""

from __future__ import annotations

import hashlib
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, cast

from leasehold.kernel.dedup import NO_WINDOW, DedupRef
from leasehold.kernel.due import Due, Priority, from_text, to_text
from leasehold.kernel.errors import MisplacedItemError
from leasehold.kernel.job import SYSTEM, Job, Outcome, Run
from leasehold.kernel.keys import JobId, job_id_at, scheduled_for_of
from leasehold.kernel.retry import retry_of_text, retry_text
from leasehold.kernel.transitions import JobStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.kernel.payload import Form
    from leasehold.kernel.table import Attribute, Record


def encode(value: object) -> Attribute:
    match value:
        case bool():
            return value
        case IntEnum():
            return int(value)
        case StrEnum():
            return str(value)
        case int() | str() | bytes():
            return value
        case datetime():
            return to_text(value)
        case Due():
            return value.key
        case Run():
            return _run_record(value)
        case tuple() | list():
            return [encode(each) for each in value]
        case _:
            raise TypeError(f"a record cannot hold {value!r}")


def encode_all(values: Mapping[str, object]) -> Record:
    return {name: value if type(value) is str else encode(value) for name, value in values.items()}


def job_record(job: Job) -> Record:
    optional: dict[str, object] = {
        "attempts": job.attempts or None,
        "dispatches": job.dispatches or None,
        "due_key": job.due,
        "due_lane": job.due_lane,
        "wake": job.wake or None,
        "created_by": None if job.created_by == SYSTEM else job.created_by,
        "locked_by": job.locked_by,
        "locked_at": job.locked_at,
        "lock_expires_at": job.lock_expires_at,
        "started_at": job.started_at,
        "last_attempt_at": job.last_attempt_at,
        "completed_at": job.completed_at,
        "last_error": job.last_error,
        "last_error_code": job.last_error_code,
        "result": job.result_text,
        "artifacts": job.artifacts or None,
        "runs": job.runs or None,
        "cancel_requested": job.cancel_requested,
        "cancel_reason": job.cancel_reason,
        "start_by": job.start_by,
        "retry_of": job.retry_of,
        "dedup_key": job.dedup.key if job.dedup else None,
        "dedup_window": job.dedup.window if job.dedup and job.dedup.window != NO_WINDOW else None,
        "dedup_until": job.dedup_until,
        "undelivered_since": job.undelivered_since,
        "concurrency_key": job.concurrency_key,
        "seat": job.seat,
        "trace": job.trace,
        "schedule": job.schedule,
        "template": job.template,
        "retry": retry_text(job.retry) if job.retry else None,
        "webhook": job.webhook,
        "group_id": job.group_id,
        "member": job.member,
        "owed": job.owed or None,
        "expires_at": job.expires_at,
        "ended_lane": job.ended_lane,
        "ended_key": job.ended_key,
    }
    return {
        "job_id": job.job_id,
        "job_type": job.job_type,
        "payload": job.stored_payload,
        "scheduled_for": to_text(job.scheduled_for),
        "status": str(job.status),
        "priority": int(job.priority),
        "max_attempts": job.max_attempts,
        "created_at": to_text(job.created_at),
        **{name: encode(value) for name, value in optional.items() if value is not None},
    }


def job_of(record: Record) -> Job:
    """The job of an item. Which job it is, its key says: what is written inside is only as good as its writer."""
    job_id = job_id_at(cast("str", record["PK"]), cast("str", record["SK"]))
    if job_id is None:
        raise MisplacedItemError(record["PK"], record["SK"])
    return described_job(record, job_id)


def described_job(record: Record, job_id: JobId) -> Job:
    """A job of this id as a record describes it, wherever the record stands."""
    read = _Reader(record)
    job_type = read.text("job_type")
    dedup_key = read.maybe("dedup_key")
    status = JobStatus(read.text("status"))
    return Job(
        job_id=job_id,
        job_type=job_type,
        stored_payload=cast("Form", record["payload"]),
        scheduled_for=scheduled_for_of(job_id),
        status=status,
        priority=Priority(read.number("priority")),
        max_attempts=read.number("max_attempts"),
        created_at=from_text(read.text("created_at")),
        created_by=read.maybe("created_by") or SYSTEM,
        attempts=read.number("attempts"),
        dispatches=read.number("dispatches"),
        due=Due.parse(read.text("due_key")) if "due_key" in record else None,
        due_lane=read.maybe("due_lane"),
        wake="wake" in record,
        locked_by=read.maybe("locked_by"),
        locked_at=read.time("locked_at"),
        lock_expires_at=read.time("lock_expires_at"),
        started_at=read.time("started_at"),
        last_attempt_at=_last_attempt(read, status),
        completed_at=read.time("completed_at"),
        last_error=read.maybe("last_error"),
        last_error_code=read.maybe("last_error_code"),
        result_text=read.maybe("result"),
        artifacts=tuple(read.texts("artifacts")),
        runs=read.runs(),
        cancel_requested=read.maybe("cancel_requested"),
        cancel_reason=read.maybe("cancel_reason"),
        start_by=read.time("start_by"),
        retry_of=cast("JobId | None", read.maybe("retry_of")),
        dedup=DedupRef(job_type, dedup_key, read.maybe("dedup_window") or NO_WINDOW) if dedup_key else None,
        dedup_until=read.time("dedup_until"),
        undelivered_since=read.time("undelivered_since"),
        concurrency_key=read.maybe("concurrency_key"),
        seat=read.maybe("seat"),
        trace=read.maybe("trace"),
        schedule=read.maybe("schedule"),
        template=read.maybe("template"),
        retry=retry_of_text(read.text("retry")) if "retry" in record else None,
        webhook=read.maybe("webhook"),
        group_id=read.maybe("group_id"),
        member=read.number("member") if "member" in record else None,
        owed=tuple(read.texts("owed")),
        expires_at=read.number("expires_at") if "expires_at" in record else None,
        ended_lane=read.maybe("ended_lane"),
        ended_key=read.maybe("ended_key"),
    )


def _last_attempt(read: _Reader, status: JobStatus) -> datetime | None:
    """An ended job's last attempt is over: stored once, as `started_at`, since every byte is billed."""
    return read.time("last_attempt_at") or (read.time("started_at") if status.has_ended else None)


OPEN = "open"


def _run_record(run: Run) -> Record:
    record: Record = {
        "number": run.number,
        "worker": run.worker,
        "started_at": to_text(run.started_at),
        "ended_at": to_text(run.ended_at),
        "outcome": str(run.outcome),
    }
    if run.error is not None:
        record["error"] = run.error
    if run.error_code is not None:
        record["error_code"] = run.error_code
    if run.reason is not None:
        record["reason"] = run.reason
    if run.artifacts:
        record["artifacts"] = list(run.artifacts)
    return record


def _run_of(record: Record) -> Run:
    read = _Reader(record)
    return Run(
        number=read.number("number"),
        worker=read.text("worker"),
        started_at=from_text(read.text("started_at")),
        ended_at=from_text(read.text("ended_at")),
        outcome=Outcome(read.text("outcome")),
        error=read.maybe("error"),
        error_code=read.maybe("error_code"),
        reason=read.maybe("reason"),
        artifacts=tuple(read.texts("artifacts")),
    )


class _Reader:
    """Typed reads of a record, so that each attribute's type is said once, where it is read."""

    def __init__(self, record: Record) -> None:
        self._record: dict[str, Any] = record

    def text(self, name: str) -> str:
        value = self._record[name]
        if not isinstance(value, str):
            raise TypeError(f"{name} is no text")
        return value

    def maybe(self, name: str) -> str | None:
        value = self._record.get(name)
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is no text")
        return value

    def number(self, name: str) -> int:
        value = self._record.get(name, 0)
        if not isinstance(value, int):
            raise TypeError(f"{name} is no whole number")
        return value

    def time(self, name: str) -> datetime | None:
        text = self.maybe(name)
        return None if text is None else from_text(text)

    def texts(self, name: str) -> list[str]:
        return cast("list[str]", self._record.get(name, []))

    def maps(self, name: str) -> list[Record]:
        return cast("list[Record]", self._record.get(name, []))

    def runs(self) -> tuple[Run, ...]:
        return tuple(_run_of(each) for each in self.maps("runs"))


MAX_LENGTH = 36


def content_token(token: str, content: object) -> str:
    """A caller's token made one with what it asks for.

    DynamoDB refuses a token that comes back with other content (IdempotentParameterMismatch). Who was refused, looked
    again and now asks for something else makes another transaction, whose own conditions decide about it.
    """
    return request_token(token, repr(content))


def request_token(*services: str) -> str:
    """The same write gives the same token, another write another one, in the 36 characters that DynamoDB allows."""
    return hashlib.sha256("\x1f".join(services).encode()).hexdigest()[:MAX_LENGTH]
