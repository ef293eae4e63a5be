"""A run as programs outside see it: the HTTP API answers with this document, and webhooks carry it."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from leasehold.domain.instants import to_text
from leasehold.domain.lifecycle import JobStatus
from leasehold.domain.payload import shown_json
from leasehold.domain.run import next_number

if TYPE_CHECKING:
    from leasehold.domain.job import Job
    from leasehold.domain.run import Run

# Of a run that has not ended; the others are the values of Outcome.
RUNNING = "RUNNING"

# A larger result is left out: who wants it asks for the job.
MAX_SHOWN_RESULT_BYTES = 4096


def run_document(job: Job, run: Run | None) -> dict[str, object]:
    """What is known of one run of this job; without a run, of a job that no handler was ever reached for.

    What is unset is left out. `job_status` is the job's as it is now, in the words of `external_status`.
    """
    return _document(job, _of_the_job(job) if run is None else _of_the_run(job, run))


def running_document(job: Job) -> dict[str, object] | None:
    """The run that goes on: it exists from its start, and has no end yet. None if none does."""
    if job.status is not JobStatus.IN_PROGRESS or job.started_at is None:
        return None
    number = next_number(job.runs)
    told = {"run_id": f"{job.job_id}.{number}", "attempt": number, "status": RUNNING}
    return _document(job, {**told, "started_at": to_text(job.started_at)})


def _document(job: Job, of_the_run: dict[str, object | None]) -> dict[str, object]:
    optional: dict[str, object | None] = {
        **of_the_run,
        "next_attempt_at": to_text(job.due_at) if job.status is JobStatus.FAILED and job.due_at else None,
        "template": job.template,
        "schedule": job.schedule,
        "group_id": job.group_id,
        "retry_of": job.retry_of,
        "trace": job.trace,
    }
    return {
        "job_id": job.job_id,
        "job_type": job.job_type,
        "job_status": external_status(job.status),
        "priority": int(job.priority),
        **{name: value for name, value in optional.items() if value is not None},
    }


def external_status(status: JobStatus) -> str:
    """A job's state as the API names it. Whether it waits for its first attempt or for the next is told by its runs."""
    match status:
        case JobStatus.PENDING | JobStatus.FAILED:
            return "QUEUED"
        case JobStatus.IN_PROGRESS:
            return "RUNNING"
        case JobStatus.CANCELLED:
            return "CANCELLED"
        case JobStatus.COMPLETED:
            return "COMPLETED"
        case JobStatus.DEAD_LETTER:
            return "FAILED"
        case _:
            assert_never(status)


def statuses_of(state: str) -> frozenset[JobStatus]:
    """The states that the API gives one name: QUEUED is what waits, for its first attempt or for another."""
    return frozenset(status for status in JobStatus if external_status(status) == state)


def _of_the_run(job: Job, run: Run) -> dict[str, object | None]:
    is_last = bool(job.runs) and job.runs[-1].number == run.number
    return {
        "run_id": run.run_id(job.job_id),
        "attempt": run.number,
        "status": str(run.outcome),
        "started_at": to_text(run.started_at),
        "ended_at": to_text(run.ended_at),
        "error": _last_line(run.error),
        "error_code": run.error_code,
        "reason": run.reason,
        "artifacts": list(run.artifacts) or None,
        **(_result(job) if is_last else {}),
    }


def _of_the_job(job: Job) -> dict[str, object | None]:
    return {"status": "FAILED", "error": _last_line(job.last_error), "error_code": job.last_error_code}


def _result(job: Job) -> dict[str, object | None]:
    """As it is stored: a datetime is `{"$datetime": …}`, a decimal `{"$decimal": …}`."""
    if job.result_text is None:
        return {}
    size = len(job.result_text.encode())
    return {"result_bytes": size} if size > MAX_SHOWN_RESULT_BYTES else {"result": shown_json(job.result_text)}


def _last_line(error: str | None) -> str | None:
    """The exception and its message. Where in the code it was raised is nobody's business outside."""
    return None if error is None else error.rstrip().rpartition("\n")[2]
