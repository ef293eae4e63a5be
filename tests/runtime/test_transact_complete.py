"""A handler that completes its job by itself: the end stands, whatever it does afterwards."""

from __future__ import annotations

import pytest

from leasehold.kernel.errors import InvalidPayloadError, PayloadTooLargeError
from leasehold.kernel.transitions import JobStatus
from leasehold.runtime.signals import Cancel, Skip, Snooze
from leasehold.telemetry import COMPLETED, Event
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that

AFTERTHOUGHTS = [RuntimeError("late"), SystemExit(1), Snooze(30), Skip("late"), Cancel("late")]


@pytest.mark.parametrize("afterthought", AFTERTHOUGHTS, ids=lambda error: type(error).__name__)
def test_what_is_raised_after_the_completion_changes_nothing(afterthought):
    def work(context):
        context.transact_complete([], result={"done": True})
        raise afterthought

    world = LeaseholdTest({"work": handler_that(work)})
    job_id = world.queue.enqueue("work").job_id

    assert world.drain().counts == {"completed": 1}
    job = world.queue.get(job_id)
    assert (job.status, job.result, len(job.runs)) == (JobStatus.COMPLETED, {"done": True}, 1)
    assert world.telemetry.of(Event.LEASE_LOST) == []
    (told,) = world.telemetry.of(Event.JOB_COMPLETED)
    assert told["error"] == str(afterthought)


def test_what_is_raised_after_the_completion_is_logged_without_the_payload():
    def work(context):
        context.transact_complete([])
        raise ValueError("no user ada@example.com")

    world = LeaseholdTest({"work": handler_that(work)})
    world.queue.enqueue("work", {"email": "ada@example.com"})

    assert world.drain()["completed"] == 1
    (told,) = world.telemetry.of(Event.JOB_COMPLETED)
    assert told["error"] == "no user [payload.email]"


def test_what_is_returned_after_the_completion_is_not_the_result():
    def work(context):
        context.transact_complete([], result=1)
        return {"not even": {"json"}}

    world = LeaseholdTest({"work": handler_that(work)})
    job_id = world.queue.enqueue("work").job_id

    assert world.drain()["completed"] == 1
    assert world.queue.get(job_id).result == 1
    assert world.telemetry.total(COMPLETED, status="success") == 1


def test_completing_twice_is_refused_and_harms_nothing():
    def work(context):
        context.transact_complete([], result="first")
        context.transact_complete([], result="second")

    world = LeaseholdTest({"work": handler_that(work)})
    job_id = world.queue.enqueue("work").job_id

    assert world.drain()["completed"] == 1
    assert world.queue.get(job_id).result == "first"


@pytest.mark.parametrize(("result", "error"), [({1}, InvalidPayloadError), ("x" * 70_000, PayloadTooLargeError)])
def test_a_result_that_cannot_be_stored_is_told_before_anything_is_written(result, error):
    def work(context):
        with pytest.raises(error):
            context.transact_complete([], result=result)
        return "went on"

    world = LeaseholdTest({"work": handler_that(work)})
    job_id = world.queue.enqueue("work").job_id

    assert world.drain()["completed"] == 1
    assert world.queue.get(job_id).result == "went on"


def test_the_in_memory_table_says_that_it_has_no_tables_of_its_caller():
    def work(context):
        with pytest.raises(NotImplementedError, match="your own items need a DynamoDB table"):
            context.transact_complete([{"Put": {}}])

    world = LeaseholdTest({"work": handler_that(work)})
    world.queue.enqueue("work")

    assert world.drain()["completed"] == 1
