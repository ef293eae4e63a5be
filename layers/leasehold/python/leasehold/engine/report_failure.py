"""Report a failed attempt that will be tried again: best effort, after the job's outcome is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.failure_report import FailureReport, Severity, allowed_fields
from leasehold.domain.redaction import redacted
from leasehold.domain.run import MAX_ERROR_BYTES, Outcome
from leasehold.domain.text import shortened
from leasehold.engine.telemetry import Event
from leasehold.kernel.end import run_of

if TYPE_CHECKING:
    from leasehold.domain.job import Job
    from leasehold.domain.job_type import JobType
    from leasehold.engine.parts import Parts
    from leasehold.kernel.end import Failure


def report_failure(job: Job, failure: Failure, parts: Parts) -> None:
    """Tell of a lost or failed run of `job`, given as its start left it. Nothing that goes wrong here shows outside.

    A run that was the last is told by the dead-letter table's stream, which does not give up: see report_letters.py.
    """
    try:
        if not parts.reporter.is_on or parts.reporter.report(_report(job, failure, parts)):
            return
        reason = "the report was not taken"
    except Exception as error:  # a reporter's trouble is never the job's
        reason = f"{type(error).__name__}: {error}"
    parts.telemetry.event(Event.REPORT_FAILED, job_id=job.job_id, job_type=job.job_type, reason=reason)


def _report(job: Job, failure: Failure, parts: Parts) -> FailureReport:
    now = parts.clock.now()
    job_type: JobType = parts.deployment.settings_of(job.job_type)
    payload = parts.store.payloads.shown(job).payload
    return FailureReport(
        job_id=job.job_id,
        job_type=job.job_type,
        severity=Severity.WARNING,
        error=shortened(redacted(failure.error, payload, job_type.reported_fields), MAX_ERROR_BYTES),
        error_code=failure.code,
        failed_at=now,
        attempts=job.attempts,
        max_attempts=job.max_attempts,
        runs=run_of(job, now, Outcome.FAILED, failure=failure),
        fields=allowed_fields(payload, job_type.reported_fields),
    )
