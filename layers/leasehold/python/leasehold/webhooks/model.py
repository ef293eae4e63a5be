"""A delivery: one receiver is told of one run, by a job of the system's own."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.documents import picked, set_only
from leasehold.kernel.errors import LeaseholdError
from leasehold.kernel.job import Job, next_number
from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import (
    SYSTEM_CODE,
    SYSTEM_SHARD,
    Due,
    JobPartition,
    derive_job_id,
    from_text,
    parse_job_id,
    partition_of,
    position_at,
    run_lane,
    to_text,
)
from leasehold.kernel.payload import encode_payload
from leasehold.kernel.payload_forms import shown_json
from leasehold.kernel.retry import Delays
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.type_options import DELIVERY, MAX_KEY_BYTES
from leasehold.telemetry.redaction import without_payload
from leasehold.webhooks.address import Address, RunEvent

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.job import Run
    from leasehold.kernel.keys import JobId


RETRY_AFTER = (5, 15, 45)
TRIES = 1 + len(RETRY_AFTER)
# A receiver that does not take it uses up `TRIES`, and that is the end. More are for a sender that died on the way:
# only one that never gets as far as the receiver leaves a dead letter, since that is for an operator to repair.
_STARTS = 10
_TIMEOUT = timedelta(seconds=30)
_NO_RUN = "-"


def delivery_type(function: str | None = None, *, per_host: int | None = None) -> JobType:
    """The type as it is deployed; `per_host` are told at once, so that a slow receiver keeps no other from its turn."""
    return JobType(
        name=DELIVERY,
        timeout=_TIMEOUT,
        max_attempts=_STARTS,
        retry=Delays(tuple(timedelta(seconds=each) for each in RETRY_AFTER)),
        concurrency_per_key=per_host,
        function=function,
    )


def delivery_id(job_id: JobId, run: Run | None, ended_at: datetime) -> JobId:
    """The same end gives the same id: told once, and found again from its job. Without a run: of its dead letter."""
    return _delivery_id(job_id, str(run.number) if run else _NO_RUN, ended_at)


def _delivery_id(job_id: JobId, number: str, ended_at: datetime) -> JobId:
    return derive_job_id(ended_at, JobPartition(SYSTEM_CODE, SYSTEM_SHARD), "webhook", job_id, number)


def delivery_ids(job: Job) -> list[JobId]:
    """The deliveries that there may be of an ended job's runs, the first run first."""
    ids = [delivery_id(job.job_id, run, run.ended_at) for run in job.runs]
    return ids if job.completed_at is None else [*ids, delivery_id(job.job_id, None, job.completed_at)]


def is_genuine(message_id: str, body: str) -> bool:
    """Whether a message tells of a run what the system tells, under the id that follows from it."""
    try:
        told = json.loads(body)
        event, ended_at, data = RunEvent(told["type"]), from_text(told["timestamp"]), told["data"]
        job_id = parse_job_id(data["job_id"])
        run_id = data.get("run_id")
        number = _NO_RUN if event is RunEvent.DEAD_LETTERED or run_id is None else run_id.removeprefix(f"{job_id}.")
        return (
            set(told) == {"type", "timestamp", "data"}
            and isinstance(data["job_type"], str)
            and partition_of(job_id).code != SYSTEM_CODE
            and message_id == _delivery_id(job_id, number, ended_at)
        )
    except (AttributeError, KeyError, TypeError, ValueError, LeaseholdError):
        return False


def delivery(job: Job, run: Run | None, event: RunEvent, *, url: str, ended_at: datetime, settings: JobType) -> Job:
    """The job that tells `url` how this run of `job` ended; `job` is as the end leaves it.

    The body is made here, once: however often it is sent, it is the same bytes under the same id. It is plain ASCII, so
    that no text of a job's can keep it from being written.
    """
    # A dead letter is the job's, and told besides the run that led to it.
    made_id = delivery_id(job.job_id, None if event is RunEvent.DEAD_LETTERED else run, ended_at)
    data = run_document(job, run)
    for name in ("error", "reason"):
        if isinstance(text := data.get(name), str):
            data[name] = without_payload(text, job)
    told = {"type": str(event), "timestamp": to_text(ended_at), "data": data}
    body = json.dumps(told, separators=(",", ":"))
    return Job(
        job_id=made_id,
        job_type=DELIVERY,
        stored_payload=encode_payload({"id": made_id, "url": url, "body": body}),
        scheduled_for=ended_at,
        status=JobStatus.PENDING,
        priority=settings.priority,
        max_attempts=settings.max_attempts,
        created_at=ended_at,
        due=Due(ended_at, position_at(ended_at), made_id),
        due_lane=run_lane(settings.priority, SYSTEM_SHARD),
        wake=True,
        # Only where it is counted: it makes the item larger.
        concurrency_key=None if settings.concurrency_per_key is None else Address.of(url).host[:MAX_KEY_BYTES],
        trace=job.trace,
    )


def last_line(error: str | None) -> str | None:
    """The exception and its message. Where in the code it was raised is nobody's business outside."""
    return None if error is None else error.rstrip().rpartition("\n")[2]


# Of a run that has not ended; the others are the values of Outcome.
RUNNING = "RUNNING"

# A larger result is left out: who wants it asks for the job.
MAX_SHOWN_RESULT_BYTES = 4096


def run_document(job: Job, run: Run | None) -> dict[str, object]:
    """What is known of one run of this job; without a run, of a job that no handler was ever reached for.

    What is unset is left out. `job_status` is the job's as it is now, in the words of `external_status`.
    """
    if run is not None:
        return _document(job, _of_the_run(job, run))
    return _document(job, {"status": "FAILED", "error": last_line(job.last_error), "error_code": job.last_error_code})


def running_document(job: Job) -> dict[str, object] | None:
    """The run that goes on: it exists from its start, and has no end yet. None if none does."""
    if job.status is not JobStatus.IN_PROGRESS or job.started_at is None:
        return None
    number = next_number(job.runs)
    told = {"run_id": f"{job.job_id}.{number}", "attempt": number, "status": RUNNING}
    return _document(job, {**told, "started_at": to_text(job.started_at)})


def _document(job: Job, of_the_run: dict[str, object | None]) -> dict[str, object]:
    next_attempt_at = to_text(job.due_at) if job.status is JobStatus.FAILED and job.due_at else None
    return {
        **picked(job, "job_id", "job_type"),
        "job_status": external_status(job.status),
        **picked(job, "priority"),
        **set_only(**of_the_run, next_attempt_at=next_attempt_at),
        **picked(job, "template", "schedule", "group_id", "retry_of", "trace"),
    }


def external_status(status: JobStatus) -> str:
    """A job's state as the API names it. Whether it waits for its first attempt or for the next is told by its runs."""
    return "QUEUED" if status.is_waiting else _EXTERNAL[status]


_EXTERNAL = {
    JobStatus.IN_PROGRESS: "RUNNING",
    JobStatus.COMPLETED: "COMPLETED",
    JobStatus.CANCELLED: "CANCELLED",
    JobStatus.DEAD_LETTER: "FAILED",
}


def statuses_of(state: str) -> frozenset[JobStatus]:
    """The states that the API gives one name: QUEUED is what waits, for its first attempt or for another."""
    return frozenset(status for status in JobStatus if external_status(status) == state)


def _of_the_run(job: Job, run: Run) -> dict[str, object | None]:
    is_last = bool(job.runs) and job.runs[-1].number == run.number
    return {
        "run_id": run.run_id(job.job_id),
        "attempt": run.number,
        "status": str(run.outcome),
        **picked(run, "started_at", "ended_at"),
        "error": last_line(run.error),
        **picked(run, "error_code", "reason", "artifacts"),
        **(_result(job) if is_last else {}),
    }


def _result(job: Job) -> dict[str, object | None]:
    """As it is stored: a datetime is `{"$datetime": …}`, a decimal `{"$decimal": …}`."""
    if job.result_text is None:
        return {}
    size = len(job.result_text.encode())
    return {"result_bytes": size} if size > MAX_SHOWN_RESULT_BYTES else {"result": shown_json(job.result_text)}
