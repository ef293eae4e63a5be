"""What a handler may know and do besides its payload."""

from __future__ import annotations

from datetime import datetime, timedelta
from unittest.mock import Mock

import pytest

from leasehold.kernel.dedup import Within
from leasehold.kernel.errors import InvalidOptionError, LeaseLostError
from leasehold.kernel.job import MAX_ARTIFACT_BYTES, MAX_ARTIFACTS, Outcome
from leasehold.kernel.job_type import JobType
from leasehold.runtime.handler import JobContext
from leasehold.runtime.signals import Cancel
from leasehold.testing import LeaseholdTest
from tests.handlers import handler_that

TIMEOUT = timedelta(seconds=30)


def world_where(work) -> LeaseholdTest:
    return LeaseholdTest({"work": handler_that(work)}, types=[JobType(name="work", timeout=TIMEOUT)])


def test_it_says_which_attempt_at_which_job_this_is():
    told = []

    def look(context):
        told.append((context.job_id, context.job_type, context.attempt, context.idempotency_key, context.trace))
        if context.attempt == 1:
            raise RuntimeError("once more")

    world = world_where(look)
    job_id = world.queue.enqueue("work", trace="t").job_id
    world.drain(until_idle=True)

    assert told == [(job_id, "work", 1, job_id, "t"), (job_id, "work", 2, job_id, "t")]


def test_a_mock_that_is_made_after_it_has_all_that_it_says():
    context = Mock(spec=JobContext, attempt=2)

    assert context.attempt == 2
    assert all(hasattr(context, name) for name in ("job_id", "job_type", "idempotency_key", "started_at", "deadline"))


def test_the_deadline_is_when_the_platform_ends_the_attempt():
    deadlines = []
    world = world_where(lambda context: deadlines.append(context.deadline))
    world.queue.enqueue("work")
    world.drain()

    assert deadlines == [world.clock.now() + TIMEOUT]


def test_a_lease_can_be_prolonged_and_says_until_when():
    leases: list[tuple[datetime, datetime | None, datetime]] = []

    def work(context):
        world.clock.advance(timedelta(seconds=20))
        leases.append((context.extend(), world.queue.get(context.job_id).lock_expires_at, world.clock.now()))

    world = world_where(work)
    world.queue.enqueue("work")
    world.drain()

    ((until, stored, now),) = leases
    assert until == stored == now + JobType(name="work", timeout=TIMEOUT).lease_length


def test_an_expired_lease_cannot_be_prolonged():
    def work(context):
        world.clock.advance(timedelta(hours=1))
        with pytest.raises(LeaseLostError, match="before extend"):
            context.extend()
        return "done late"

    world = world_where(work)
    job_id = world.queue.enqueue("work").job_id

    # Nobody reaped it meanwhile, so the completion still counts.
    assert world.drain()["completed"] == 1
    assert world.queue.get(job_id).result == "done late"


def test_a_requested_cancel_is_seen_within_five_seconds():
    seen = []

    def work(context):
        seen.append(context.cancel_requested)
        world.queue.cancel(context.job_id, reason="changed my mind")
        seen.append(context.cancel_requested)
        world.clock.advance(timedelta(seconds=5))
        seen.append(context.cancel_requested)
        raise Cancel("as asked")

    world = world_where(work)
    job_id = world.queue.enqueue("work").job_id

    assert world.drain()["cancelled"] == 1
    assert seen == [False, False, True]
    assert world.queue.get(job_id).cancel_reason == "as asked"


def test_artifacts_are_kept_on_the_run_and_on_the_completed_job():
    def work(context):
        context.add_artifact(f"s3://reports/{context.attempt}")
        if context.attempt == 1:
            raise RuntimeError("once more")

    world = world_where(work)
    job_id = world.queue.enqueue("work").job_id
    world.drain(until_idle=True)

    job = world.queue.get(job_id)
    assert [(run.outcome, run.artifacts) for run in job.runs] == [
        (Outcome.FAILED, ("s3://reports/1",)),
        (Outcome.COMPLETED, ("s3://reports/2",)),
    ]
    assert job.artifacts == ("s3://reports/2",)


def test_a_run_has_a_bounded_number_of_artifacts():
    def work(context):
        for number in range(MAX_ARTIFACTS):
            context.add_artifact(str(number))
        with pytest.raises(InvalidOptionError, match=r"at most 20 artifacts: got 'one more'.* Note a folder"):
            context.add_artifact("one more")

    world = world_where(work)
    world.queue.enqueue("work")

    assert world.drain()["completed"] == 1


@pytest.mark.parametrize("location", ["", "x" * (MAX_ARTIFACT_BYTES + 1), "ü" * MAX_ARTIFACT_BYTES])
def test_an_artifact_is_a_bounded_text(location):
    def work(context):
        context.add_artifact("x" * MAX_ARTIFACT_BYTES)
        context.add_artifact(location)

    world = world_where(work)
    job_id = world.queue.enqueue("work").job_id

    assert world.drain()["dead_letter"] == 1
    assert "an artifact is 1 to 512 bytes" in (world.queue.get(job_id).last_error or "")


def test_a_handler_enqueues_into_its_own_queue_once_however_often_it_runs():
    def order(context):
        once = Within(timedelta(hours=1))
        context.enqueue("ship", {"order": 1}, dedup_key=context.idempotency_key, dedup_window=once)
        if context.attempt == 1:
            raise RuntimeError("once more")

    shipped = []
    world = LeaseholdTest(
        {"order": handler_that(order), "ship": handler_that(lambda context: shipped.append(context.trace))},
        types=[JobType(name="order"), JobType(name="ship")],
    )
    world.queue.enqueue("order", trace="t")
    world.drain(until_idle=True)

    assert shipped == ["t"]
