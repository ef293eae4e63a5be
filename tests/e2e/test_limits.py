"""Limits on the deployed stack: one of a key at a time, in order, and the next starts when the one before it ends."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from leasehold.kernel.transitions import JobStatus
from tests.local_stack import LOCAL_AWS, PATIENCE

if TYPE_CHECKING:
    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS


def test_jobs_of_one_key_run_one_after_the_other_without_waiting_for_a_tick(local_stack: LocalStack):
    queue = local_stack.queue
    made = [queue.enqueue("limited", {"seconds": 0.2}, concurrency_key="tenant-1").job_id for _ in range(4)]
    other = queue.enqueue("limited", {"seconds": 0.2}, concurrency_key="tenant-2").job_id

    jobs = [queue.wait(job_id, timeout=PATIENCE) for job_id in made]

    assert {job.status for job in (*jobs, queue.wait(other, timeout=PATIENCE))} == {JobStatus.COMPLETED}
    runs = [job.runs[0] for job in jobs]
    assert all(before.ended_at <= after.started_at for before, after in pairwise(runs))
    took = runs[-1].ended_at - runs[0].started_at
    # Four polls a minute apart would take three minutes: each end woke the poller for the next.
    assert took < timedelta(seconds=60)
