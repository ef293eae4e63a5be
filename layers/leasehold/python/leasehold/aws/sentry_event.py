"""A failure report as a Sentry event."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from leasehold.domain.failure_report import Severity
from leasehold.domain.instants import to_text

if TYPE_CHECKING:
    from leasehold.domain.failure_report import FailureReport
    from leasehold.domain.run import Run


def event_of(report: FailureReport) -> dict[str, Any]:
    from leasehold.aws.traceback_text import exceptions_of  # only for a run that failed

    event: dict[str, Any] = {
        "event_id": event_id(report),
        "timestamp": report.failed_at,
        "level": str(report.severity),
        "logger": "leasehold",
        "transaction": report.job_type,
        "fingerprint": ["leasehold", report.job_type, report.error_code],
        "tags": {
            "job_id": report.job_id,
            "job_type": report.job_type,
            "attempt": str(report.attempts),
            "error_code": report.error_code,
        },
        "contexts": {
            "job": _without_unset(
                job_id=report.job_id,
                job_type=report.job_type,
                attempts=report.attempts,
                max_attempts=report.max_attempts,
                will_retry=report.severity is Severity.WARNING,
            ),
            "runs": {f"run {run.number}": _run(run) for run in report.runs},
        },
    }
    if report.fields:
        event["contexts"]["payload"] = dict(report.fields)
    exceptions = exceptions_of(report.error)
    if exceptions is None:
        event["logentry"] = {"formatted": report.error.rstrip().rpartition("\n")[2]}
        event["extra"] = {"error": report.error}
    else:
        event["exception"] = {"values": exceptions}
    return event


def event_id(report: FailureReport) -> str:
    """The same for every copy of one report: Sentry keeps the first, so that sending again is safe."""
    name = f"{report.job_id}#{report.severity}#{report.attempts}"
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def _run(run: Run) -> dict[str, Any]:
    return _without_unset(
        worker=run.worker,
        started_at=to_text(run.started_at),
        ended_at=to_text(run.ended_at),
        outcome=str(run.outcome),
        error_code=run.error_code,
    )


def _without_unset(**values: object) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
