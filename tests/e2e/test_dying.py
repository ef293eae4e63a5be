"""Workers that die in the middle of a job: whoever ends them, the job's lease brings it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.job import Outcome
from leasehold.kernel.transitions import JobStatus
from tests.local_stack import LOCAL_AWS, eventually

if TYPE_CHECKING:
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS

LINGERS_SECONDS = 25


@pytest.fixture(scope="module")
def doomed(local_stack: LocalStack) -> dict[str, JobId]:
    """All at once: each waits for a lease of 15 s, and they may as well wait together."""
    enqueue = local_stack.queue.enqueue
    jobs = {
        "killed": enqueue("crasher", {"lingers_seconds": LINGERS_SECONDS}).job_id,
        "deaf": enqueue("slowpoke", {"is_deaf": True}).job_id,
        "slow": enqueue("slowpoke", {}).job_id,
    }
    started = eventually(lambda: job if (job := local_stack.queue.get(jobs["killed"])).started_at else None)
    assert started, "the job that shall be killed did not start"
    assert local_stack.kill_function("job-crasher") >= 1
    jobs["crashed"] = enqueue("crasher", {"crashes": 1}).job_id
    return jobs


def ended(stack: LocalStack, job_id: JobId) -> Job:
    job = stack.wait(job_id)
    assert job.status is JobStatus.COMPLETED
    assert [run.outcome for run in job.runs] == [Outcome.FAILED, Outcome.COMPLETED]
    return job


def test_a_job_whose_process_was_killed_runs_again(local_stack: LocalStack, doomed: dict[str, JobId]):
    job = ended(local_stack, doomed["killed"])

    assert job.runs[0].error_code == "worker_lost"
    # Found by its lease: had the first run gone on, it would have ended later than that.
    assert (job.runs[0].ended_at - job.runs[0].started_at).total_seconds() < LINGERS_SECONDS
    assert job.result == {"survived_attempt": 2}


def test_a_job_whose_process_ended_by_itself_runs_again(local_stack: LocalStack, doomed: dict[str, JobId]):
    assert ended(local_stack, doomed["crashed"]).runs[0].error_code == "worker_lost"


def test_a_job_that_the_runtime_killed_at_its_timeout_runs_again(local_stack: LocalStack, doomed: dict[str, JobId]):
    job = ended(local_stack, doomed["deaf"])

    assert job.runs[0].error_code == "worker_lost"
    assert job.result == {"quick_at_attempt": 2}


def test_a_job_that_hears_its_alarm_fails_by_itself_before_the_timeout(
    local_stack: LocalStack, doomed: dict[str, JobId]
):
    job = ended(local_stack, doomed["slow"])

    assert job.runs[0].error_code == "timeout"
    # The handler had its whole time, and the function more than that: 3 s, and 10 s for its start and its end.
    assert 3 <= (job.runs[0].ended_at - job.runs[0].started_at).total_seconds() < 13
    (warning,) = [event for event in local_stack.sentry.events if event["tags"]["job_id"] == job.job_id]
    assert warning["level"] == "warning"


def test_a_lost_worker_is_reported_like_any_failure(local_stack: LocalStack, doomed: dict[str, JobId]):
    ended(local_stack, doomed["killed"])

    (warning,) = eventually(
        lambda: [event for event in local_stack.sentry.events if event["tags"]["job_id"] == doomed["killed"]]
    )
    assert (warning["level"], warning["tags"]["error_code"]) == ("warning", "worker_lost")
