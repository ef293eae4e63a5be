"""What is told about a failed run to people outside of the account. What is not in here does not leave."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from leasehold.kernel.end import run_of
from leasehold.kernel.job import MAX_ERROR_BYTES, Outcome, appended
from leasehold.kernel.payload import shortened
from leasehold.lean import dataclass
from leasehold.telemetry import Event
from leasehold.telemetry.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from leasehold.kernel.end import Failure
    from leasehold.kernel.job import Job, Run
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.payload import Json
    from leasehold.kernel.services import Services


class Severity(StrEnum):
    # The job will be tried again.
    WARNING = "warning"
    # It is a dead letter: nothing happens until a person does something.
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReport:
    """`fields` are the payload fields that the job type allows by name; `error` is redacted, see redaction.py."""

    job_id: JobId
    job_type: str
    severity: Severity
    error: str
    error_code: str
    failed_at: datetime
    attempts: int
    max_attempts: int | None = None
    runs: tuple[Run, ...] = ()
    fields: Mapping[str, Json] = field(default_factory=dict)


def allowed_fields(payload: Json, names: Sequence[str]) -> dict[str, Json]:
    """The top-level fields of a payload that are allowed by name.

    >>> allowed_fields({"order": 7, "email": "ada@example.com"}, ["order", "region"])
    {'order': 7}
    """
    return {name: payload[name] for name in names if name in payload} if isinstance(payload, dict) else {}


class ErrorReporter(Protocol):
    @property
    def is_on(self) -> bool:
        """Whether there is anybody to tell."""

    def report(self, report: FailureReport) -> bool:
        """Tell of a failed run; True only once the report is known to have been taken."""


def report_failure(job: Job, failure: Failure, services: Services) -> None:
    """Tell of a lost or failed run of `job`, given as its start left it. Nothing that goes wrong here shows outside.

    A run that was the last is told by the dead-letter table's stream, which does not give up: see operate/reports.py.
    """
    is_taken(job.job_id, job.job_type, services, lambda reporter: reporter.report(_report(job, failure, services)))


def is_taken(job_id: JobId, job_type: str | None, services: Services, send: Callable[[ErrorReporter], bool]) -> bool:
    """Whether a report was taken, or nobody is there to take it; what goes wrong with it is logged, and no more."""
    reporter = services.reporter
    try:
        # Where reports go may itself have to be looked up, and not be found.
        if reporter is None or not reporter.is_on or send(reporter):
            return True
        log_untaken(job_id, job_type, services)
    except Exception as error:  # a reporter's trouble is never the job's
        log_untaken(job_id, job_type, services, error)
    return False


def log_untaken(job_id: JobId, job_type: str | None, services: Services, error: Exception | None = None) -> None:
    reason = f"{type(error).__name__}: {error}" if error else "the report was not taken"
    services.telemetry.event(Event.REPORT_FAILED, job_id=job_id, job_type=job_type, reason=reason)


def _report(job: Job, failure: Failure, services: Services) -> FailureReport:
    now = services.clock.now()
    job_type: JobType = services.deployment.settings_of(job.job_type)
    payload = services.store.payloads.shown(job).payload
    return FailureReport(
        job_id=job.job_id,
        job_type=job.job_type,
        severity=Severity.WARNING,
        error=shortened(redacted(failure.error, payload, job_type.reported_fields), MAX_ERROR_BYTES),
        error_code=failure.code,
        failed_at=now,
        attempts=job.attempts,
        max_attempts=job.max_attempts,
        runs=appended(job.runs, run_of(job, now, Outcome.FAILED, failure=failure)),
        fields=allowed_fields(payload, job_type.reported_fields),
    )
