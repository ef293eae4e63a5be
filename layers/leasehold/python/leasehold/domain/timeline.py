"""What became of a job, moment by moment, as far as its record tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.instants import to_text
from leasehold.domain.lifecycle import JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leasehold.domain.job import Job

type Moment = dict[str, object]


def timeline(job: Job) -> list[Moment]:
    """Moments in order, the last ones possibly still to come: `is_past` is left to whoever knows what time it is."""
    return sorted(_moments(job), key=lambda moment: str(moment["at"]))


def _moments(job: Job) -> Iterator[Moment]:
    yield _moment(job.created_at, "created", by=job.created_by)
    if job.scheduled_for > job.created_at:
        yield _moment(job.scheduled_for, "scheduled")
    for run in job.runs:
        yield _moment(run.started_at, "started", run=run.number, worker=run.worker)
        yield _moment(
            run.ended_at,
            str(run.outcome).lower(),
            run=run.number,
            error_code=run.error_code,
            reason=run.reason,
            seconds=(run.ended_at - run.started_at).total_seconds(),
        )
    if job.cancel_requested is not None:
        yield {"at": job.cancel_requested, "event": "cancel_requested"}
    yield from _now(job)


def _now(job: Job) -> Iterator[Moment]:
    """How it stands: what runs, what comes next, or how it ended."""
    if job.completed_at is not None:
        yield _moment(job.completed_at, str(job.status), reason=job.cancel_reason)
    if job.status is JobStatus.IN_PROGRESS and job.started_at is not None:
        yield _moment(job.started_at, "running")
    elif job.status is JobStatus.IN_PROGRESS and job.locked_at is not None:
        yield _moment(job.locked_at, "handed_over")
    if job.status is JobStatus.FAILED and job.due is not None:
        yield _moment(job.due.at, "next_attempt")
    if job.status is JobStatus.PENDING and job.due is not None and job.due.at != job.scheduled_for:
        yield _moment(job.due.at, "due")


def _moment(at: datetime, event: str, **more: object) -> Moment:
    return {"at": to_text(at), "event": event, **{name: value for name, value in more.items() if value is not None}}
