"""What starts a job: the table's stream, and without it the tick that EventBridge gives by itself."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.transitions import JobStatus
from tests.local_stack import LOCAL_AWS, eventually

if TYPE_CHECKING:
    from typing import Any

    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS

# A tick comes each minute; the rest is for the function's start and the job itself.
A_TICK = timedelta(seconds=100)


def polls_that_claimed(stack: LocalStack) -> list[dict[str, Any]]:
    return [line for line in stack.events("poller", "poll_finished") if line.get("claimed")]


def heartbeats(stack: LocalStack) -> list[dict[str, Any]]:
    """One for each tick, and for nothing else."""
    return [line for line in stack.log("poller") if line.get("heartbeat")]


def test_a_job_is_completed_through_the_streams_wake_alone(local_stack: LocalStack):
    with local_stack.without_tick():
        claimed_before = len(polls_that_claimed(local_stack))
        job = local_stack.wait(local_stack.queue.enqueue("daily_summary", {"user_id": "ada"}).job_id)

    assert job.status is JobStatus.COMPLETED
    assert job.result == {"user_id": "ada", "summary": "The day went well."}
    assert eventually(lambda: len(polls_that_claimed(local_stack)) > claimed_before)


def test_with_the_stream_off_the_tick_finds_the_job_and_tells_that_it_lives(local_stack: LocalStack):
    with local_stack.without_stream():
        ticks_before = len(heartbeats(local_stack))
        job_id = local_stack.queue.enqueue("daily_summary", {"user_id": "ada"}).job_id
        job = local_stack.queue.wait(job_id, timeout=A_TICK)

    assert job.status is JobStatus.COMPLETED
    told = eventually(lambda: heartbeats(local_stack)[ticks_before:])
    assert told
    assert all(line["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Leasehold/local" for line in told)
