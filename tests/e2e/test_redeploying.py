"""A deployment while jobs wait: a changed handler, and a job type that is gone and comes back."""

from __future__ import annotations

import shutil
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.errors import UnknownJobTypeError
from leasehold.kernel.transitions import JobStatus
from tests.local_stack import LOCAL_AWS, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.kernel.keys import JobId
    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS


@pytest.fixture(scope="module")
def redeployed(local_stack: LocalStack) -> Iterator[dict[str, JobId]]:
    """Jobs that waited while flaky's handler was changed and the type limited was removed."""
    ahead = timedelta(hours=1)
    jobs = {
        "flaky": local_stack.queue.enqueue("flaky", {"failures": 0}, run_in=ahead).job_id,
        "limited": local_stack.queue.enqueue("limited", {"seconds": 0}, run_in=ahead).job_id,
    }
    functions = local_stack.project.root / "functions" / "exercises"
    handler, folder = functions / "flaky" / "handler.py", functions / "limited"
    before, away = handler.read_text(), local_stack.project.root / "limited"
    handler.write_text(before.replace('"answered_at_attempt"', '"answered_anew_at_attempt"'))
    shutil.move(folder, away)
    assert "deployed" in local_stack.deploy()
    for job_id in jobs.values():
        local_stack.queue.reschedule(job_id)
    yield jobs
    if away.exists():
        handler.write_text(before)
        shutil.move(away, folder)
        local_stack.deploy()


def test_a_job_that_waited_runs_with_the_new_handler(local_stack: LocalStack, redeployed: dict[str, JobId]):
    job = local_stack.wait(redeployed["flaky"])

    assert job.status is JobStatus.COMPLETED
    assert job.result == {"answered_anew_at_attempt": 1}


def test_a_job_whose_type_is_gone_is_held_until_the_type_is_deployed_again(
    local_stack: LocalStack, redeployed: dict[str, JobId]
):
    queue = local_stack.queue
    assert eventually(lambda: queue.get(redeployed["limited"]).is_held)
    assert queue.get(redeployed["limited"]).status is JobStatus.PENDING
    with pytest.raises(UnknownJobTypeError, match="limited"):
        queue.enqueue("limited", {})

    root = local_stack.project.root
    shutil.move(root / "limited", root / "functions" / "exercises" / "limited")
    local_stack.deploy()

    job = local_stack.wait(redeployed["limited"])
    assert (job.status, job.attempts) == (JobStatus.COMPLETED, 1)
