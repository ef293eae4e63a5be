"""A direct run on the deployed stack: after what runs, before what waits, with the handler's own answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.direct_runs.model import DirectRunError
from leasehold.kernel.transitions import JobStatus
from tests.local_stack import LOCAL_AWS, PATIENCE, eventually

if TYPE_CHECKING:
    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS


def told_at(stack: LocalStack, event: str, *, since: datetime) -> datetime:
    """When the handler's log says so, to the millisecond."""

    def times() -> list[datetime]:
        lines = stack.events("job-limited", event)
        told = (datetime.strptime(line["timestamp"], "%Y-%m-%d %H:%M:%S,%f%z") for line in lines)
        return [at for at in told if at >= since]

    (at,) = eventually(times)
    return at


def test_a_direct_run_comes_after_the_job_that_runs_and_before_the_one_that_waits(local_stack: LocalStack):
    queue = local_stack.queue
    running = queue.enqueue("limited", {"seconds": 4}).job_id
    assert eventually(lambda: queue.get(running).started_at)

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(queue.run_now, "limited", {"seconds": 1}, timeout=PATIENCE)
        assert eventually(lambda: queue.services.store.control.switches().reservations)
        waiting = queue.enqueue("limited").job_id
        assert answer.result() is None

    first, second = local_stack.wait(running), local_stack.wait(waiting)
    assert (first.status, second.status) == (JobStatus.COMPLETED, JobStatus.COMPLETED)
    assert first.completed_at is not None
    assert second.started_at is not None
    assert told_at(local_stack, "direct_run_started", since=first.created_at) >= first.completed_at
    # The log line is written when the handler has returned; then the seats are given back.
    ended_at = told_at(local_stack, "direct_run_ended", since=first.completed_at)
    assert ended_at - timedelta(milliseconds=5) <= second.started_at


def test_the_caller_gets_the_handlers_result_or_its_error(local_stack: LocalStack):
    answer = local_stack.queue.run_now("daily_summary", {"user_id": "ada"}, timeout=PATIENCE)

    assert answer == {"user_id": "ada", "summary": "The day went well."}
    with pytest.raises(DirectRunError, match="payload does not fit Limited"):
        local_stack.queue.run_now("limited", {"seconds": -1}, timeout=PATIENCE)
