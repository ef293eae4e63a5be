"""A job, as one frozen value for its whole life, and as the record that a table holds of it."""

from __future__ import annotations

from datetime import datetime
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from leasehold.kernel import payload as codec
from leasehold.kernel.errors import MisplacedItemError, PayloadNotReadError
from leasehold.kernel.keys import (
    Due,
    JobId,
    JobKey,
    Priority,
    from_text,
    job_id_at,
    key_of,
    run_lane,
    scheduled_for_of,
    shard_of,
)
from leasehold.kernel.lanes import is_hold_lane
from leasehold.kernel.payload import shortened
from leasehold.kernel.payload_forms import APART, name_apart, size_of, text_in
from leasehold.kernel.retry import retry_of_text, retry_text
from leasehold.kernel.table import FORMAT, WRITTEN_FORMAT, check_format
from leasehold.kernel.transitions import JobStatus
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.kernel.payload import Form, Json
    from leasehold.kernel.retry import RetryPolicy
    from leasehold.kernel.table import Attribute, Record


SYSTEM = "system"
NO_WINDOW = "-"


class DedupRef(NamedTuple):
    """Names a dedup record. A job keeps it, so that its end can find the record."""

    job_type: str
    key: str
    window: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Everything a table knows of a job. Unset is None, never an empty value.

    `scheduled_for` is when the job was first meant to run and never changes: it is part of the key. `due` is when it
    next needs the poller, and moves with every transition.
    """

    job_id: JobId
    job_type: str
    # As it is stored: text, compressed, or where it stands apart; a job that is not stored yet has the text.
    stored_payload: Form
    scheduled_for: datetime
    status: JobStatus
    priority: Priority
    max_attempts: int
    created_at: datetime
    created_by: str = SYSTEM
    attempts: int = 0
    dispatches: int = 0
    # When hand-overs began to fail; a start ends it.
    undelivered_since: datetime | None = None
    due: Due | None = None
    due_lane: str | None = None
    wake: bool = False
    locked_by: str | None = None
    locked_at: datetime | None = None
    lock_expires_at: datetime | None = None
    started_at: datetime | None = None
    last_attempt_at: datetime | None = None
    completed_at: datetime | None = None
    last_error: str | None = None
    last_error_code: str | None = None
    result_text: str | None = None
    artifacts: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()
    cancel_requested: str | None = None
    cancel_reason: str | None = None
    start_by: datetime | None = None
    retry_of: JobId | None = None
    dedup: DedupRef | None = None
    # The end of the dedup window, where it outlasts the job's own time.
    dedup_until: datetime | None = None
    concurrency_key: str | None = None
    seat: str | None = None
    trace: str | None = None
    schedule: str | None = None
    # The named preset that it was made from; what it asked for is part of this job.
    template: str | None = None
    # Unlike its type's, where it asked for another.
    retry: RetryPolicy | None = None
    webhook: str | None = None
    # The group that it belongs to, and its place in it.
    group_id: str | None = None
    member: int | None = None
    # The features that it owes something since a run's end, by name: an ended job stays due until they are settled.
    owed: tuple[str, ...] = ()
    expires_at: int | None = None
    ended_lane: str | None = None
    ended_key: str | None = None
    # The text of a payload that stands apart, once it was read.
    read_payload: str | None = None

    @property
    def payload_text(self) -> str:
        """As JSON; PayloadNotReadError if it stands apart and was not read, as in a listing."""
        if (known := self.read_payload or self.plain_payload) is not None:
            return known
        if self.payload_name is not None:
            raise PayloadNotReadError(self.job_id)
        return text_in(self.stored_payload)

    @property
    def plain_payload(self) -> str | None:
        """The payload as JSON where it is stored as such; None where it is compressed, or stands apart."""
        return form if isinstance(form := self.stored_payload, str) and not form.startswith(APART) else None

    @property
    def payload_name(self) -> str | None:
        """Which item holds the payload; None if the job does."""
        return name_apart(self.stored_payload)

    @property
    def payload_bytes(self) -> int:
        """What the payload adds to the job's item."""
        return size_of(self.stored_payload)

    @property
    def payload(self) -> Json:
        return codec.decode(self.payload_text)

    @property
    def result(self) -> Json:
        return None if self.result_text is None else codec.decode(self.result_text)

    @property
    def key(self) -> JobKey:
        return key_of(self.job_id)

    @property
    def shard(self) -> int:
        return shard_of(self.job_id)

    @property
    def run_lane(self) -> str:
        return run_lane(self.priority, self.shard)

    @property
    def due_at(self) -> datetime | None:
        return (self.due.afterwards or self.due).at if self.due else None

    @property
    def is_held(self) -> bool:
        """Due, but parked where polls do not look until its scope may run again."""
        return self.due_lane is not None and is_hold_lane(self.due_lane)

    @property
    def has_ended(self) -> bool:
        return self.status.has_ended


# Payload, result, error and runs share one 400 KB item; these bounds leave no end state unwritable.
MAX_RUNS = 20
MAX_HISTORY_BYTES = 96 * 1024
MAX_RUN_ERROR_BYTES = 1_024
MAX_REASON_BYTES = 1_024
MAX_CODE_BYTES = 128
MAX_ERROR_BYTES = 8_192
MAX_ARTIFACTS = 20
MAX_ARTIFACT_BYTES = 512


class Outcome(StrEnum):
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One start of a job. `number` counts all runs, also those that were dropped from the bounded history."""

    number: int
    worker: str
    started_at: datetime
    ended_at: datetime
    outcome: Outcome
    error: str | None = None
    error_code: str | None = None
    # Why a run was skipped or cancelled by its own handler.
    reason: str | None = None
    artifacts: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """About how many bytes it takes in a table: its texts, and some for names and numbers."""
        texts = (self.worker, self.error or "", self.error_code or "", self.reason or "", *self.artifacts)
        return 200 + sum(len(text.encode()) + 4 for text in texts)

    def run_id(self, job_id: JobId) -> str:
        return f"{job_id}.{self.number}"


def appended(runs: Sequence[Run], run: Run) -> tuple[Run, ...]:
    """The history with one more run; the oldest goes first when it is full."""
    history = (*runs, run)[-MAX_RUNS:]
    while len(history) > 1 and sum(each.size for each in history) > MAX_HISTORY_BYTES:
        history = history[1:]
    return history


def next_number(runs: Sequence[Run]) -> int:
    return runs[-1].number + 1 if runs else 1


def run_error(text: str | None) -> str | None:
    """A run keeps the end of its error: that is where the exception is."""
    return None if text is None else shortened(text, MAX_RUN_ERROR_BYTES)


# --- the record; unset attributes are left out: every byte is billed

# Stored under the names that the fields have.
_TEXTS = [
    "due_lane",
    "locked_by",
    "last_error",
    "last_error_code",
    "cancel_requested",
    "cancel_reason",
    "retry_of",
    "concurrency_key",
    "seat",
    "trace",
    "schedule",
    "template",
    "webhook",
    "group_id",
    "ended_lane",
    "ended_key",
]
_TIMES = [
    "undelivered_since",
    "locked_at",
    "lock_expires_at",
    "started_at",
    "last_attempt_at",
    "completed_at",
    "start_by",
    "dedup_until",
]
# These have fields of another kind.
_READ = ("created_by", "due_key", "result", "dedup_key", "dedup_window", "retry")
_NEEDED = ("job_type", "status", "created_at")
_RUN_TEXTS = ("worker", "error", "error_code", "reason")
_RUN_TIMES = ("started_at", "ended_at")
_COUNTS = ("attempts", "dispatches")
_NUMBERS = ("member", "expires_at")
_LISTS = ("artifacts", "owed")


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
            return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")  # as `to_text` does
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
    values: dict[str, object] = {
        "job_id": job.job_id,
        "job_type": job.job_type,
        "payload": job.stored_payload,
        "scheduled_for": job.scheduled_for,
        "status": job.status,
        "priority": job.priority,
        "max_attempts": job.max_attempts,
        "created_at": job.created_at,
        FORMAT: None if WRITTEN_FORMAT == 1 else WRITTEN_FORMAT,
        "created_by": None if job.created_by == SYSTEM else job.created_by,
        "due_key": job.due,
        "wake": job.wake or None,
        "result": job.result_text,
        "runs": job.runs or None,
        "dedup_key": job.dedup.key if job.dedup else None,
        "dedup_window": job.dedup.window if job.dedup and job.dedup.window != NO_WINDOW else None,
        "retry": retry_text(job.retry) if job.retry else None,
        **{name: getattr(job, name) for name in (*_TEXTS, *_TIMES, *_NUMBERS)},
        **{name: getattr(job, name) or None for name in (*_COUNTS, *_LISTS)},
    }
    return encode_all({name: value for name, value in values.items() if value is not None})


def job_of(record: Record) -> Job:
    """The job of an item. Which job it is, its key says: what is written inside is only as good as its writer."""
    job_id = job_id_at(cast("str", record["PK"]), cast("str", record["SK"]))
    if job_id is None:
        raise MisplacedItemError(record["PK"], record["SK"])
    return described_job(record, job_id)


def described_job(record: Record, job_id: JobId) -> Job:
    """A job of this id as a record describes it, wherever the record stands."""
    if FORMAT in record:
        check_format(record, f"job {job_id}")
    texts = typed(record, str, (*_NEEDED, *_TEXTS, *_TIMES, *_READ))
    numbers = typed(record, int, (*_COUNTS, *_NUMBERS, "priority", "max_attempts"))
    job_type, status = texts["job_type"], JobStatus(texts["status"])
    values = {name: texts[name] for name in _TEXTS if name in texts}
    values |= {name: from_text(texts[name]) for name in _TIMES if name in texts}
    values |= {name: numbers[name] for name in (*_COUNTS, *_NUMBERS) if name in numbers}
    values |= {name: tuple(cast("list[str]", record[name])) for name in _LISTS if name in record}
    if status.has_ended and "last_attempt_at" not in values:
        # Its last attempt is over: stored once, as `started_at`.
        values["last_attempt_at"] = values.get("started_at")
    dedup_key, window = texts.get("dedup_key"), texts.get("dedup_window", NO_WINDOW)
    return Job(
        job_id=job_id,
        job_type=job_type,
        stored_payload=cast("Form", record["payload"]),
        scheduled_for=scheduled_for_of(job_id),
        status=status,
        priority=Priority(numbers.get("priority", 0)),
        max_attempts=numbers.get("max_attempts", 0),
        created_at=from_text(texts["created_at"]),
        created_by=texts.get("created_by") or SYSTEM,
        due=Due.parse(texts["due_key"]) if "due_key" in texts else None,
        wake="wake" in record,
        result_text=texts.get("result"),
        runs=runs_in(record),
        dedup=DedupRef(job_type, dedup_key, window) if dedup_key else None,
        retry=retry_of_text(texts["retry"]) if "retry" in texts else None,
        **values,
    )


def typed(record: Record, kind: type, names: Sequence[str]) -> dict[str, Any]:
    """Those of these attributes that a record has; TypeError for one that is not what it has to be."""
    found = {name: record[name] for name in names if name in record}
    for name, value in found.items():
        if not isinstance(value, kind):
            raise TypeError(f"{name} is no {'text' if kind is str else 'whole number'}")
    return found


def _run_record(run: Run) -> Record:
    values = {name: getattr(run, name) for name in ("number", "outcome", *_RUN_TEXTS, *_RUN_TIMES)}
    values["artifacts"] = run.artifacts or None
    return encode_all({name: value for name, value in values.items() if value is not None})


def runs_in(record: Record) -> tuple[Run, ...]:
    return tuple(_run_of(each) for each in cast("list[Record]", record.get("runs", ())))


def _run_of(record: Record) -> Run:
    texts = typed(record, str, ("outcome", *_RUN_TEXTS, *_RUN_TIMES))
    values = {name: texts[name] for name in _RUN_TEXTS if name in texts}
    values |= {name: from_text(texts[name]) for name in _RUN_TIMES}
    return Run(
        number=typed(record, int, ("number",)).get("number", 0),
        outcome=Outcome(texts["outcome"]),
        artifacts=tuple(cast("list[str]", record.get("artifacts", ()))),
        **values,
    )
