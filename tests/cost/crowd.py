"""A table full of jobs that a poll has no business with.

Each kind is one job, made by the engine's own records, and stamped over and over with another id and another time.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.kernel import keys
from leasehold.kernel.dynamodb.expressions import to_item
from leasehold.kernel.job import Job, Outcome, Run, job_record
from leasehold.kernel.jobs import ended_lane
from leasehold.kernel.keys import Due, JobPartition, Priority, make_job_id, position_at, run_lane, to_text, type_code
from leasehold.kernel.table import JOBS
from leasehold.kernel.transitions import JobStatus
from leasehold.limits.lanes import hold_lane, queue_of
from tests.tables import creation_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

_DYNOXIDE = Path(__file__).parent.parent.parent / "node_modules/@dynoxide/linux-x64/dynoxide"
_random_source = random.Random(2)


def waiting(job_type: str, due_at: datetime, now: datetime) -> Job:
    """A job as enqueue leaves it."""
    job_id = make_job_id(due_at, JobPartition(type_code(job_type)), _random_source.getrandbits(50))
    return Job(
        job_id=job_id,
        job_type=job_type,
        stored_payload='{"n":1}',
        scheduled_for=due_at,
        status=JobStatus.PENDING,
        priority=Priority.NORMAL,
        max_attempts=5,
        created_at=now,
        due=Due(due_at, position_at(now), job_id),
        due_lane=run_lane(Priority.NORMAL, 0),
    )


def finished(job_type: str, count: int, now: datetime) -> Iterator[str]:
    ended_at = now - timedelta(days=2)
    job = waiting(job_type, ended_at, ended_at)
    run = Run(number=1, worker="w.0", started_at=ended_at, ended_at=ended_at, outcome=Outcome.COMPLETED)
    ended = replace(
        job,
        status=JobStatus.COMPLETED,
        attempts=1,
        due=None,
        due_lane=None,
        started_at=ended_at,
        completed_at=ended_at,
        runs=(run,),
        expires_at=int(ended_at.timestamp()) + 7 * 86400,
        ended_lane=ended_lane(JobStatus.COMPLETED, job_type),
        ended_key=f"{to_text(ended_at)}#{job.job_id}",
    )
    return stamped(ended, count)


def future(job_type: str, count: int, now: datetime) -> Iterator[str]:
    return stamped(waiting(job_type, now + timedelta(hours=1), now), count)


def leased(job_type: str, count: int, now: datetime) -> Iterator[str]:
    job = waiting(job_type, now - timedelta(hours=1), now)
    assert job.due is not None
    until = now + timedelta(hours=1)
    running = replace(
        job,
        status=JobStatus.IN_PROGRESS,
        attempts=1,
        locked_by="w.0",
        locked_at=now,
        lock_expires_at=until,
        started_at=now,
        due=job.due._replace(at=until),
    )
    return stamped(running, count)


def held(job_type: str, count: int, now: datetime, *, key: str | None = None) -> Iterator[str]:
    """Due long ago, and moved to a hold lane by a poll that found the type paused or full, or the key if it has one."""
    job = replace(waiting(job_type, now - timedelta(days=1), now), concurrency_key=key)
    return stamped(replace(job, due_lane=hold_lane(queue_of(job_type, key), Priority.NORMAL)), count)


def stamped(job: Job, count: int) -> Iterator[str]:
    """So many jobs like this one, a second apart, each as a line of a DynamoDB export."""
    item = to_item(keys.job(job.job_id).attributes | job_record(job))
    template = json.dumps({"Item": item})
    time_text = to_text(job.scheduled_for)
    for n in range(count):
        at = job.scheduled_for + timedelta(seconds=n % 86_000)
        job_id = make_job_id(at, JobPartition(type_code(job.job_type)), _random_source.getrandbits(50))
        yield template.replace(job.job_id, job_id).replace(time_text, to_text(at))


def database_of(lines: Iterable[str], table: str, folder: Path) -> Path:
    """A dynoxide database with these jobs in one table: an import takes a third of the time that puts would."""
    data = folder / "export" / table / "data"
    data.mkdir(parents=True)
    with (data / "jobs.json").open("w") as export:
        export.writelines(f"{line}\n" for line in lines)
    schema = folder / "schema.json"
    schema.write_text(json.dumps({"Table": creation_request(JOBS, table)}))
    database = folder / "crowd.db"
    options = {"--source": folder / "export", "--schema": schema, "--output": database}
    words = [str(word) for option in options.items() for word in option]
    subprocess.run([_DYNOXIDE, "import", *words], check=True, capture_output=True)
    shutil.rmtree(folder / "export")
    return database
