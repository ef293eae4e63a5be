"""A job, as one frozen value for its whole life, and as the record that a table holds of it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, cast

from leasehold.kernel import payload as codec
from leasehold.kernel.errors import MisplacedItemError, PayloadNotReadError
from leasehold.kernel.keys import Due, JobId, Priority, job_id_at, partition_of, run_lane, scheduled_for_of
from leasehold.kernel.lanes import is_hold_lane
from leasehold.kernel.payload import OFFLOADED, shortened
from leasehold.kernel.records import PARTS, Codec, Kind, texts_in
from leasehold.kernel.retry import retry_of_text, retry_text
from leasehold.kernel.table import FORMAT, WRITTEN_FORMAT, check_format
from leasehold.kernel.transitions import JobStatus
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.kernel.payload import Form, Json
    from leasehold.kernel.retry import RetryPolicy
    from leasehold.kernel.table import Record


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
        from leasehold.kernel.payload_forms import text_in

        return text_in(self.stored_payload)

    @property
    def plain_payload(self) -> str | None:
        """The payload as JSON where it is stored as such; None where it is compressed, or stands apart."""
        return form if isinstance(form := self.stored_payload, str) and not form.startswith(OFFLOADED) else None

    @property
    def payload_name(self) -> str | None:
        """Which item holds the payload; None if the job does."""
        form = self.stored_payload
        return form.removeprefix(OFFLOADED) if isinstance(form, str) and form.startswith(OFFLOADED) else None

    @property
    def payload(self) -> Json:
        return codec.decode(self.payload_text)

    @property
    def result(self) -> Json:
        return None if self.result_text is None else codec.decode(self.result_text)

    @property
    def run_lane(self) -> str:
        return run_lane(self.priority, partition_of(self.job_id).shard)

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


# --- the record


def _runs_of(records: Sequence[Record]) -> tuple[Run, ...]:
    if not all(isinstance(each, dict) for each in records):
        raise TypeError("a run is no map")
    return tuple(Run(**{"number": 0, **_RUN.values(each)}) for each in records)


RUNS = Kind(list, _runs_of)
_RUN = PARTS[Run] = Codec(Run, {"Outcome": Kind(str, Outcome)})
_JOB = Codec(
    Job,
    {
        "JobStatus": Kind(str, JobStatus),
        "Priority": Kind(int, Priority),
        "RetryPolicy": Kind(str, retry_of_text, retry_text),
        "tuple[Run, ...]": RUNS,
    },
    stored_as={"stored_payload": "payload", "due": "due_key", "result_text": "result"},
    without=("dedup", "read_payload"),
)


def job_record(job: Job) -> Record:
    record = _JOB.record(job)
    if job.dedup is not None:
        record["dedup_key"] = job.dedup.key
        if job.dedup.window != NO_WINDOW:
            record["dedup_window"] = job.dedup.window
    if WRITTEN_FORMAT != 1:
        record[FORMAT] = WRITTEN_FORMAT
    return record


def job_of(record: Record, job_id: JobId | None = None) -> Job:
    """The job of an item. Which job it is, its key says: what is written inside is only as good as its writer.

    job_id: of the job that a record describes wherever it stands.
    """
    job_id = job_id or job_id_at(cast("str", record["PK"]), cast("str", record["SK"]))
    if job_id is None:
        raise MisplacedItemError(record["PK"], record["SK"])
    if FORMAT in record:
        check_format(record, f"job {job_id}")
    values = _JOB.values(record) | {"job_id": job_id, "scheduled_for": scheduled_for_of(job_id)}
    if values["status"].has_ended and "last_attempt_at" not in values:
        # Its last attempt is over: stored once, as `started_at`.
        values["last_attempt_at"] = values.get("started_at")
    if "dedup_key" in record:
        key, window = texts_in({"dedup_window": NO_WINDOW, **record}, ("dedup_key", "dedup_window"))
        values["dedup"] = DedupRef(values["job_type"], key, window)
    return Job(**{"priority": Priority.LOW, "max_attempts": 0, **values})
