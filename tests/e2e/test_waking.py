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


def wake_ups(stack: LocalStack, channel: str) -> list[dict[str, Any]]:
    return [line for line in stack.log("poller") if line.get("channel") == channel]


def test_a_job_is_completed_through_the_streams_wake_alone(local_stack: LocalStack):
    with local_stack.without_tick():
        woken_before = len(wake_ups(local_stack, "stream"))
        job = local_stack.wait(local_stack.queue.enqueue("daily_summary", {"user_id": "ada"}).job_id)

    assert job.status is JobStatus.COMPLETED
    assert job.result == {"user_id": "ada", "summary": "The day went well."}
    assert eventually(lambda: len(wake_ups(local_stack, "stream")) > woken_before)


def test_with_the_stream_off_the_tick_finds_the_job_and_tells_that_it_lives(local_stack: LocalStack):
    with local_stack.without_stream():
        ticks_before = len(wake_ups(local_stack, "tick"))
        job_id = local_stack.queue.enqueue("daily_summary", {"user_id": "ada"}).job_id
        job = local_stack.queue.wait(job_id, timeout=A_TICK)

    assert job.status is JobStatus.COMPLETED
    ticks = eventually(lambda: wake_ups(local_stack, "tick")[ticks_before:])
    assert ticks
    heartbeats = [line for line in local_stack.log("poller") if line.get("heartbeat")]
    assert len(heartbeats) >= len(wake_ups(local_stack, "tick"))
    assert all(line["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Leasehold/local" for line in heartbeats)
