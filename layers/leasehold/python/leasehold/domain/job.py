"""A job, as one frozen value for its whole life."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain import payload as codec
from leasehold.domain.due import Due, Priority, is_hold_lane, run_lane
from leasehold.domain.errors import PayloadNotReadError
from leasehold.domain.ids import JobKey, code_of, key_of, shard_of
from leasehold.domain.lean import dataclass
from leasehold.domain.payload_form import name_apart, size_of, text_in

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.dedup import DedupRef
    from leasehold.domain.ids import JobId
    from leasehold.domain.lifecycle import JobStatus
    from leasehold.domain.payload import Json
    from leasehold.domain.payload_form import Form
    from leasehold.domain.retry import RetryPolicy
    from leasehold.domain.run import Run

SYSTEM = "system"


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
        if self.read_payload is not None:
            return self.read_payload
        if self.payload_name is not None:
            raise PayloadNotReadError(self.job_id)
        return text_in(self.stored_payload)

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
    def code(self) -> int:
        return code_of(self.job_id)

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
