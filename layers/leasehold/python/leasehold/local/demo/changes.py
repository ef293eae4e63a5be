"""What became of jobs between two looks at them, in words. What happens to every job is in the counts; these are the
turns that a reader wants to see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.job import Outcome
from leasehold.kernel.transitions import JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leasehold.kernel.job import Job, Run
    from leasehold.kernel.keys import JobId

_LOST = "worker_lost"


def changes(before: Mapping[JobId, Job], after: Mapping[JobId, Job]) -> Iterator[str]:
    for job_id, job in after.items():
        earlier = before.get(job_id)
        known = earlier.runs[-1].number if earlier and earlier.runs else 0
        for run in job.runs:
            if run.number > known and (told := _run(run)):
                yield f"{job.job_type}: {told}"
        if _was_snoozed(earlier, job):
            assert job.due_at is not None
            yield f"{job.job_type}: snoozed until {job.due_at:%H:%M:%S}"
        if job.status is JobStatus.DEAD_LETTER and (earlier is None or earlier.status is not job.status):
            yield f"{job.job_type}: a dead letter after {job.attempts} attempts"


def _run(run: Run) -> str | None:
    if run.outcome is Outcome.SKIPPED:
        return f"skipped, {run.reason}"
    if run.outcome is not Outcome.FAILED:
        return None
    if run.error_code == _LOST:
        return f"attempt {run.number} was lost with its worker; its lease has shown it"
    return f"attempt {run.number} failed with {run.error_code}"


def _was_snoozed(earlier: Job | None, job: Job) -> bool:
    if job.status is not JobStatus.PENDING or job.last_attempt_at is None:
        return False
    return earlier is None or earlier.last_attempt_at != job.last_attempt_at
