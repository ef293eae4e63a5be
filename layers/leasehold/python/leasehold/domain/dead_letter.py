"""Dead letters: jobs that failed for good, kept until somebody resolves them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.domain import payload as codec
from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.ids import JobId
    from leasehold.domain.payload import Json
    from leasehold.domain.run import Run


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
