"""Dead letters: jobs that failed for good, kept until somebody resolves them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, cast

from leasehold.kernel import payload as codec
from leasehold.kernel.job import encode, runs_in
from leasehold.kernel.keys import JobId, from_text, to_text
from leasehold.kernel.lean import dataclass
from leasehold.kernel.payload import MISSING, compact, text_or
from leasehold.kernel.table import Reader, check_format

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.job import Run
    from leasehold.kernel.payload import Form, Json
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


def dead_letter_record(dead_letter: DeadLetter) -> Record:
    optional: dict[str, object] = {
        "max_attempts": dead_letter.max_attempts,
        "runs": dead_letter.runs or None,
        "trace": dead_letter.trace,
        "resolution": dead_letter.resolution,
        "resolved_by": dead_letter.resolved_by,
        "resolved_at": dead_letter.resolved_at,
        "resolved_reason": dead_letter.resolved_reason,
        "redriven_as": dead_letter.redriven_as,
        "reported_at": dead_letter.reported_at,
    }
    index_keys = {
        "open": OPEN,
        "open_type": dead_letter.job_type,
        "open_key": f"{to_text(dead_letter.failed_at)}#{dead_letter.id}",
    }
    return {
        "original_job_id": dead_letter.original_job_id,
        "job_type": dead_letter.job_type,
        # Its own copy, whatever becomes of the job's.
        "payload": compact(dead_letter.payload_text),
        "failure_reason": dead_letter.failure_reason,
        "error_code": dead_letter.error_code,
        "failed_at": to_text(dead_letter.failed_at),
        "attempts": dead_letter.attempts,
        **{name: encode(value) for name, value in optional.items() if value is not None},
        **(index_keys if dead_letter.is_open else {}),
    }


def dead_letter_of(record: Record) -> DeadLetter:
    check_format(record, "this dead letter")
    read = Reader(record)
    resolution = read.maybe("resolution")
    return DeadLetter(
        id=JobId(read.text("id")),
        original_job_id=JobId(read.text("original_job_id")),
        job_type=read.text("job_type"),
        payload_text=text_or(MISSING, cast("Form", record["payload"])),
        failure_reason=read.text("failure_reason"),
        error_code=read.text("error_code"),
        failed_at=from_text(read.text("failed_at")),
        attempts=read.number("attempts"),
        max_attempts=read.number("max_attempts") or None,
        runs=runs_in(record),
        trace=read.maybe("trace"),
        resolution=Resolution(resolution) if resolution else None,
        resolved_by=read.maybe("resolved_by"),
        resolved_at=read.time("resolved_at"),
        resolved_reason=read.maybe("resolved_reason"),
        redriven_as=cast("JobId | None", read.maybe("redriven_as")),
        reported_at=read.time("reported_at"),
    )
