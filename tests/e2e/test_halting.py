"""A halt: what runs may finish, nothing new starts, and the heartbeat goes on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.errors import SystemHaltedError
from leasehold.kernel.transitions import JobStatus
from tests.local_stack import LOCAL_AWS, eventually

if TYPE_CHECKING:
    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS


def test_a_halt_lets_running_jobs_finish_starts_no_new_ones_and_a_resume_brings_them(local_stack: LocalStack):
    queue, operator = local_stack.queue, local_stack.operator
    running = queue.enqueue("crasher", {"lingers_seconds": 4}).job_id
    waiting = queue.enqueue("daily_summary", {"user_id": "ada"}, run_in=timedelta(seconds=8)).job_id
    assert eventually(lambda: queue.get(running).started_at)

    assert operator.halt(reason="end-to-end test")
    try:
        queue.services.deployment.forget()
        with pytest.raises(SystemHaltedError):
            queue.enqueue("daily_summary", {"user_id": "ada"})
        assert local_stack.wait(running).status is JobStatus.COMPLETED
        # The poller comes to the job that is due, and says that it leaves it alone.
        due_at = queue.get(waiting).scheduled_for
        paused = eventually(
            lambda: [
                line
                for line in local_stack.events("poller", "poll_paused")
                if line["timestamp"].replace(",", ".") > f"{due_at:%Y-%m-%d %H:%M:%S}"
            ]
        )
        assert paused[-1]["message"] == "job worker paused due to system halt"
        assert (queue.get(waiting).status, queue.get(waiting).attempts) == (JobStatus.PENDING, 0)
    finally:
        assert operator.resume()
        queue.services.deployment.forget()

    assert local_stack.wait(waiting).status is JobStatus.COMPLETED


def test_a_resume_starts_what_is_due_at_once_and_not_with_the_next_tick(local_stack: LocalStack):
    queue, operator = local_stack.queue, local_stack.operator
    with local_stack.without_tick():
        waiting = queue.enqueue("daily_summary", {"user_id": "ada"}, run_in=timedelta(seconds=3)).job_id
        assert operator.halt(reason="end-to-end test")
        try:
            due_at = queue.get(waiting).scheduled_for
            eventually(lambda: datetime.now(UTC) > due_at)
            assert queue.get(waiting).status is JobStatus.PENDING
        finally:
            assert operator.resume()
            queue.services.deployment.forget()

        assert local_stack.wait(waiting).status is JobStatus.COMPLETED
