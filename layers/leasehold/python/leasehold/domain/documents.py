"""What surfaces show, as JSON-ready documents: pure functions, used by the HTTP API, the command line and the console.

Unset values are left out. Times are texts in UTC, durations are seconds. Payloads and results are as they are stored:
a datetime is `{"$datetime": …}`, a decimal `{"$decimal": …}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.due import queue_of_lane
from leasehold.domain.instants import to_text
from leasehold.domain.payload import shown_json
from leasehold.domain.resource_documents import epoch, retry_document, set_only, time_text
from leasehold.domain.run_document import external_status, run_document, running_document
from leasehold.domain.timeline import timeline

if TYPE_CHECKING:
    from leasehold.domain.dead_letter import DeadLetter
    from leasehold.domain.job import Job
    from leasehold.domain.resource_documents import Document
    from leasehold.domain.run import Run


def job_summary(job: Job) -> Document:
    """A job in a list: all but its payload, its result and its history.

    `status` is one of the six states, `state` what the API calls it: QUEUED, RUNNING, COMPLETED, FAILED, CANCELLED.
    """
    return set_only(
        job_id=job.job_id,
        job_type=job.job_type,
        status=str(job.status),
        state=external_status(job.status),
        priority=int(job.priority),
        scheduled_for=to_text(job.scheduled_for),
        due_at=time_text(job.due_at) if not job.has_ended else None,
        held_by=queue_of_lane(job.due_lane) if job.due_lane else None,
        created_at=to_text(job.created_at),
        created_by=job.created_by,
        attempts=job.attempts,
        max_attempts=job.max_attempts,
        started_at=time_text(job.started_at),
        ended_at=time_text(job.completed_at),
        error=job.last_error.rstrip().rpartition("\n")[2] if job.last_error else None,
        error_code=job.last_error_code,
        cancel_requested_at=job.cancel_requested,
        cancel_reason=job.cancel_reason,
        dedup_key=job.dedup.key if job.dedup else None,
        concurrency_key=job.concurrency_key,
        schedule=job.schedule,
        template=job.template,
        group_id=job.group_id,
        member=job.member,
        retry_of=job.retry_of,
    )


def job_document(job: Job) -> Document:
    """All of a job: with payload, result, runs and timeline."""
    return {
        **job_summary(job),
        "payload": shown_json(job.payload_text),
        **set_only(
            result=None if job.result_text is None else shown_json(job.result_text),
            traceback=job.last_error,
            artifacts=list(job.artifacts) or None,
            last_attempt_at=time_text(job.last_attempt_at),
            lease=_lease(job),
            start_by=time_text(job.start_by),
            dedup_window=job.dedup.window if job.dedup else None,
            retry=retry_document(job.retry) if job.retry else None,
            webhook=job.webhook,
            trace=job.trace,
            expires_at=epoch(job.expires_at),
        ),
        "runs": [*(run_of_job(job, run) for run in job.runs), *running_runs(job)],
        "timeline": timeline(job),
    }


def run_of_job(job: Job, run: Run) -> Document:
    """A run as those see it who look after the job: with its worker, and the traceback that others do not see."""
    return {**run_document(job, run), **set_only(worker=run.worker, traceback=run.error)}


def running_runs(job: Job) -> list[Document]:
    """The run that goes on now, if one does."""
    running = running_document(job)
    return [] if running is None else [{**running, **set_only(worker=job.locked_by)}]


def letter_document(letter: DeadLetter) -> Document:
    """`failure_reason` is the exception and its message, `traceback` all that is known."""
    return {
        "id": letter.id,
        "original_job_id": letter.original_job_id,
        "job_type": letter.job_type,
        "payload": shown_json(letter.payload_text),
        "failed_at": to_text(letter.failed_at),
        "failure_reason": letter.failure_reason.rstrip().rpartition("\n")[2],
        "error_code": letter.error_code,
        "traceback": letter.failure_reason,
        "attempts": letter.attempts,
        "is_open": letter.is_open,
        "runs": [_run_alone(letter, run) for run in letter.runs],
        **set_only(
            max_attempts=letter.max_attempts,
            trace=letter.trace,
            resolution=str(letter.resolution) if letter.resolution else None,
            resolved_by=letter.resolved_by,
            resolved_at=time_text(letter.resolved_at),
            resolved_reason=letter.resolved_reason,
            redriven_as=letter.redriven_as,
            reported_at=time_text(letter.reported_at),
        ),
    }


def letter_summary(letter: DeadLetter) -> Document:
    """A letter in a list: all but its payload and its history, which may be large."""
    left_out = {"payload", "runs", "traceback"}
    return {name: value for name, value in letter_document(letter).items() if name not in left_out}


def _run_alone(letter: DeadLetter, run: Run) -> Document:
    return {
        "run_id": run.run_id(letter.id),
        "attempt": run.number,
        "status": str(run.outcome),
        "worker": run.worker,
        "started_at": to_text(run.started_at),
        "ended_at": to_text(run.ended_at),
        **set_only(error_code=run.error_code, reason=run.reason, traceback=run.error),
    }


def _lease(job: Job) -> Document | None:
    if job.locked_by is None:
        return None
    return set_only(holder=job.locked_by, since=time_text(job.locked_at), until=time_text(job.lock_expires_at))
