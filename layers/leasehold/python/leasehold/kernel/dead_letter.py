"""Dead letters: jobs that failed for good, kept until somebody resolves them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, cast

from leasehold.kernel import partitions
from leasehold.kernel import payload as codec
from leasehold.kernel.job import MAX_ERROR_BYTES, RUNS
from leasehold.kernel.keys import JobId, to_text
from leasehold.kernel.payload import MISSING, is_stored_form, shortened
from leasehold.kernel.records import Codec, Kind, texts_in
from leasehold.kernel.table import Put, check_format
from leasehold.lean import dataclass
from leasehold.telemetry import COMPLETED, Event

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.end import Failure
    from leasehold.kernel.job import Job, Run
    from leasehold.kernel.payload import Form, Json
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record


OPEN = "open"


class Resolution(StrEnum):
    REDRIVEN = "redriven"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """`id` is the job's id: a job dies once, so a second record of the same death finds the first."""

    id: JobId
    original_job_id: JobId
    job_type: str
    payload_text: str
    failure_reason: str
    error_code: str
    failed_at: datetime
    attempts: int
    max_attempts: int | None = None
    runs: tuple[Run, ...] = ()
    trace: str | None = None
    resolution: Resolution | None = None
    resolved_by: str | None = None
    resolved_at: datetime | None = None
    resolved_reason: str | None = None
    redriven_as: JobId | None = None
    reported_at: datetime | None = None

    @property
    def payload(self) -> Json:
        return codec.decode(self.payload_text)

    @property
    def is_open(self) -> bool:
        return self.resolution is None


_CODEC = Codec(
    DeadLetter, {"tuple[Run, ...]": RUNS, "Resolution": Kind(str, Resolution)}, without=("id", "payload_text")
)


def dead_letter_record(dead_letter: DeadLetter) -> Record:
    form: Form = dead_letter.payload_text
    if not is_stored_form(dead_letter.payload_text):
        from leasehold.kernel.payload_forms import compact

        form = compact(dead_letter.payload_text)
    # Its own copy of the payload, whatever becomes of the job's.
    record = _CODEC.record(dead_letter) | {"payload": form}
    if dead_letter.is_open:
        key = f"{to_text(dead_letter.failed_at)}#{dead_letter.id}"
        record |= {"open": OPEN, "open_type": dead_letter.job_type, "open_key": key}
    return record


def dead_letter_insertion(dead_letter: DeadLetter) -> Put:
    """A dead letter's record, to be written together with the end of its job."""
    return Put(key=partitions.dead_letter(dead_letter.id), record=dead_letter_record(dead_letter))


def dead_letter_of(record: Record) -> DeadLetter:
    from leasehold.kernel.payload_forms import text_or

    check_format(record, "this dead letter")
    (dead_letter_id,) = texts_in(record, ("id",))
    values = {"attempts": 0, **_CODEC.values(record)}
    values["max_attempts"] = values.get("max_attempts") or None
    payload_text = text_or(MISSING, cast("Form", record["payload"]))
    return DeadLetter(id=JobId(dead_letter_id), payload_text=payload_text, **values)


def dead_letter_for(job: Job, failure: Failure, now: datetime, runs: tuple[Run, ...]) -> DeadLetter:
    return DeadLetter(
        id=job.job_id,
        original_job_id=job.job_id,
        job_type=job.job_type,
        payload_text=job.payload_text,
        failure_reason=shortened(failure.error, MAX_ERROR_BYTES),
        error_code=failure.code,
        failed_at=now,
        attempts=job.attempts,
        max_attempts=job.max_attempts,
        runs=runs,
        trace=job.trace,
    )


def log_dead(job: Job, failure: Failure, services: Services) -> None:
    """The alert that an operator must see: one line, one count, whoever gave the job up."""
    from leasehold.telemetry.redaction import without_payload  # a job that completes needs none of it

    services.telemetry.event(
        Event.JOB_DEAD_LETTERED,
        job_id=job.job_id,
        job_type=job.job_type,
        attempt=job.attempts,
        attempt_count=job.attempts,
        failure_reason=without_payload(failure.error, job)[-500:],
        error_code=failure.code,
        will_retry=False,
    )
    services.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status="dead_letter")
