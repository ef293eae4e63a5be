"""A delivery: one receiver is told of one run, by a job of the system's own."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.dedup import MAX_KEY_BYTES
from leasehold.domain.due import Due, position_at, run_lane
from leasehold.domain.errors import LeaseholdError
from leasehold.domain.ids import SYSTEM_CODE, SYSTEM_SHARD, JobPartition, code_of, derive_job_id, parse_job_id
from leasehold.domain.instants import from_text, to_text
from leasehold.domain.job import Job
from leasehold.domain.job_type import JobType
from leasehold.domain.lifecycle import JobStatus
from leasehold.domain.payload import encode_payload
from leasehold.domain.redaction import without_payload
from leasehold.domain.retry import Delays
from leasehold.domain.run_document import run_document
from leasehold.domain.webhook import DELIVERY, Address, RunEvent

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.ids import JobId
    from leasehold.domain.run import Run

RETRY_AFTER = (5, 15, 45)
TRIES = 1 + len(RETRY_AFTER)
# A receiver that does not take it uses up `TRIES`, and that is the end. More are for a sender that died on the way:
# only one that never gets as far as the receiver leaves a dead letter, since that is for an operator to repair.
_STARTS = 10
_TIMEOUT = timedelta(seconds=30)


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
    home = JobPartition(SYSTEM_CODE, SYSTEM_SHARD)
    return derive_job_id(ended_at, home, "webhook", job_id, str(run.number) if run else "-")


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
        number = "-" if event is RunEvent.DEAD_LETTERED or run_id is None else run_id.removeprefix(f"{job_id}.")
        home = JobPartition(SYSTEM_CODE, SYSTEM_SHARD)
        return (
            set(told) == {"type", "timestamp", "data"}
            and isinstance(data["job_type"], str)
            and code_of(job_id) != SYSTEM_CODE
            and message_id == derive_job_id(ended_at, home, "webhook", job_id, number)
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
