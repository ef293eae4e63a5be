"""No job can grow so large that one of its end states cannot be written: an item holds 400 KB at most."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from leasehold.kernel import keys, partitions
from leasehold.kernel.dead_letter import DeadLetter, Resolution, dead_letter_record
from leasehold.kernel.dynamodb.expressions import to_item
from leasehold.kernel.job import (
    MAX_ARTIFACT_BYTES,
    MAX_ARTIFACTS,
    MAX_CODE_BYTES,
    MAX_ERROR_BYTES,
    MAX_REASON_BYTES,
    MAX_RUN_ERROR_BYTES,
    MAX_RUNS,
    DedupRef,
    Job,
    Outcome,
    Run,
    appended,
    job_record,
)
from leasehold.kernel.keys import Due, JobPartition, Priority, make_job_id
from leasehold.kernel.payload import MAX_PAYLOAD_BYTES, MAX_RESULT_BYTES
from leasehold.kernel.retry import Delays
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.type_options import MAX_KEY_BYTES
from leasehold.limits.model import Places
from leasehold.operate.order import MAX_POSITION_LENGTH

LIMIT = 400 * 1024
NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
JOB_ID = make_job_id(NOW, JobPartition(0xFFFE, 255), (1 << 50) - 1)
NAME = "n" * 256
WORKER = "w" * 128
ARTIFACTS = ("a" * MAX_ARTIFACT_BYTES,) * MAX_ARTIFACTS


def size_of(item: dict[str, Any]) -> int:
    """By DynamoDB's rules: names and texts in bytes, numbers by digits, 3 bytes and 1 each for lists and maps."""
    return sum(len(name.encode()) + value_size(value) for name, value in item.items())


def value_size(value: dict[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return len(content) // 2 + 2
        case "BOOL":
            return 1
        case "L":
            return 3 + sum(1 + value_size(each) for each in content)
        case "M":
            return 3 + sum(1 + len(name.encode()) + value_size(each) for name, each in content.items())
    raise AssertionError(f"no rule for {kind}")


def longest_history(*, artifacts: tuple[str, ...]) -> tuple[Run, ...]:
    runs: tuple[Run, ...] = ()
    for number in range(1, 1001):
        run = Run(
            number=number,
            worker=WORKER,
            started_at=NOW,
            ended_at=NOW,
            outcome=Outcome.COMPLETED,
            error="e" * MAX_RUN_ERROR_BYTES,
            error_code="c" * MAX_CODE_BYTES,
            reason="r" * MAX_REASON_BYTES,
            artifacts=artifacts,
        )
        runs = appended(runs, run)
    return runs


def largest_job() -> Job:
    job = Job(
        job_id=JOB_ID,
        job_type="t" * 64,
        # As it was written before payloads were set apart, and as is the worst.
        stored_payload="p" * MAX_PAYLOAD_BYTES,
        scheduled_for=NOW,
        status=JobStatus.DEAD_LETTER,
        priority=Priority.CRITICAL,
        max_attempts=1000,
        created_at=NOW,
        created_by=NAME,
        attempts=1000,
        dispatches=1000,
        due=Due(NOW, "z" * MAX_POSITION_LENGTH, JOB_ID),
        due_lane="3#4095",
        wake=True,
        locked_by=WORKER,
        locked_at=NOW,
        lock_expires_at=NOW,
        started_at=NOW,
        last_attempt_at=NOW,
        completed_at=NOW,
        last_error="e" * MAX_ERROR_BYTES,
        last_error_code="c" * MAX_CODE_BYTES,
        result_text="r" * MAX_RESULT_BYTES,
        artifacts=ARTIFACTS,
        runs=longest_history(artifacts=ARTIFACTS),
        cancel_requested="2026-11-15T09:30:00.000Z",
        cancel_reason="r" * MAX_REASON_BYTES,
        start_by=NOW,
        retry_of=JOB_ID,
        dedup=DedupRef("t" * 64, "k" * MAX_KEY_BYTES, "2026-11-15"),
        dedup_until=NOW,
        undelivered_since=NOW,
        concurrency_key="k" * MAX_KEY_BYTES,
        seat=Places(WORKER, ((f"key:{'t' * 64}:{'k' * MAX_KEY_BYTES}", 998),) * 9).text,
        trace=NAME,
        schedule="s" * 64,
        template="t" * 64,
        retry=Delays((timedelta(seconds=1234.567),) * 50),
        webhook="w" * 2048,
        group_id="g" * 64,
        member=100_000,
        owed=("webhooks", "groups"),
        expires_at=2**33,
        ended_lane=f"dead_letter#{'t' * 64}",
        ended_key=f"2026-11-15T09:30:00.000Z#{JOB_ID}",
    )
    unset = {field.name for field in fields(Job) if getattr(job, field.name) in {None, ()}}
    assert unset == {"read_payload"}
    return job


def job_size(job: Job) -> int:
    return size_of(to_item({**keys.job(job.job_id).attributes, **job_record(job)}))


def test_the_largest_job_fits_into_an_item():
    assert job_size(largest_job()) < LIMIT


def test_the_largest_job_with_twenty_runs_without_artifacts_fits_too():
    runs = longest_history(artifacts=())

    assert len(runs) == MAX_RUNS
    assert job_size(replace(largest_job(), runs=runs)) < LIMIT


def test_its_dead_letter_fits_too():
    job = largest_job()
    dead_letter = DeadLetter(
        id=JOB_ID,
        original_job_id=JOB_ID,
        job_type=job.job_type,
        payload_text=job.payload_text,
        failure_reason="e" * MAX_ERROR_BYTES,
        error_code="c" * MAX_CODE_BYTES,
        failed_at=NOW,
        attempts=1000,
        max_attempts=1000,
        runs=job.runs,
        trace=NAME,
        resolution=Resolution.REDRIVEN,
        resolved_by=NAME,
        resolved_at=NOW,
        resolved_reason="r" * MAX_REASON_BYTES,
        redriven_as=JOB_ID,
        reported_at=NOW,
    )
    unset = [field.name for field in fields(DeadLetter) if getattr(dead_letter, field.name) in {None, ()}]
    assert unset == []

    # Its payload may be one that does not become smaller.
    record = {**dead_letter_record(dead_letter), "payload": dead_letter.payload_text}
    assert size_of(to_item({**partitions.dead_letter(JOB_ID).attributes, **record})) < LIMIT


def test_the_sizes_are_counted_like_dynamodb_does():
    item = {"name": {"S": "ü"}, "n": {"N": "12"}, "l": {"L": [{"S": "ab"}]}, "m": {"M": {"k": {"BOOL": True}}}}

    assert size_of(item) == (4 + 2) + (1 + 3) + (1 + 3 + 1 + 2) + (1 + 3 + 1 + 1 + 1)
