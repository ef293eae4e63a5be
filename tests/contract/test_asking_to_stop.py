"""A running job that is asked to stop: its handler sees it when it looks, and however it ends, there is no retry."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Cancel, JobStatus, JobType, NonRetryableError, Snooze
from leasehold.kernel.end import Failure
from leasehold.kernel.execute import Attempt, Executor
from leasehold.runtime.signals import fail
from leasehold.telemetry import Event
from tests.contract.world import RETRY_DELAY, TYPES

if TYPE_CHECKING:
    from leasehold import JobContext
    from tests.contract.world import World

LATER = timedelta(seconds=5)


def ask(world: World, job_id: str) -> None:
    assert not world.queue.cancel(job_id, reason="no longer needed").job_ended


def assert_it_is_over(world: World, job_id: str, *, runs: int = 1) -> None:
    """However long one waits: no further run, no dead letter."""
    for _ in range(10):
        assert world.work() == []
        world.clock.advance(RETRY_DELAY)
    job = world.job(job_id)
    assert (job.status, job.cancel_reason, len(job.runs)) == (JobStatus.CANCELLED, "no longer needed", runs)
    assert list(world.operator.dead_letters()) == []


def test_the_request_is_on_the_job_and_in_the_log_and_the_job_goes_on(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id

    def work(context: JobContext) -> str:
        ask(world, context.job_id)
        job = world.job(context.job_id)
        assert (job.status, job.cancel_reason) == (JobStatus.IN_PROGRESS, "no longer needed")
        assert job.cancel_requested is not None
        return "done"

    world.script.then(work)
    world.work()

    assert world.status(job_id) is JobStatus.COMPLETED
    (told,) = world.recorder.of(Event.JOB_CANCEL_REQUESTED)
    assert (told["job_id"], told["reason"]) == (job_id, "no longer needed")


def test_a_handler_that_looks_in_its_loop_stops_at_its_next_look(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    done: list[int] = []

    def work(context: JobContext) -> None:
        for step in range(10):
            if context.cancel_requested:
                raise Cancel("no longer needed")
            if step == 3:
                ask(world, context.job_id)
            done.append(step)
            world.clock.advance(LATER)

    world.script.then(work)

    assert world.work() == ["cancelled"]
    assert done == [0, 1, 2, 3]
    assert_it_is_over(world, job_id)


def test_an_extension_of_the_lease_brings_the_request_with_it(world: World) -> None:
    """A heartbeat does so all the time: its handler sees the request without a read of its own."""
    world.queue.enqueue("report")
    seen: list[bool] = []

    def work(context: JobContext) -> None:
        assert not context.cancel_requested
        ask(world, context.job_id)
        seen.append(context.cancel_requested)
        context.extend()
        seen.append(context.cancel_requested)

    world.script.then(work)
    world.work()

    assert seen == [False, True]


@pytest.mark.parametrize(
    "end",
    [RuntimeError("interrupted"), NonRetryableError("never"), Snooze(1), Cancel("no longer needed"), SystemExit(1)],
    ids=lambda end: type(end).__name__,
)
def test_no_way_to_end_but_completion_is_followed_by_another_run(world: World, end: BaseException) -> None:
    job_id = world.queue.enqueue("report").job_id

    def work(context: JobContext) -> None:
        ask(world, context.job_id)
        raise end

    world.script.then(work)

    assert world.work() == ["cancelled"]
    assert_it_is_over(world, job_id)


def test_a_job_whose_worker_died_after_the_request_is_not_tried_again(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id

    def work(context: JobContext) -> None:
        ask(world, context.job_id)
        raise KeyboardInterrupt

    world.script.then(work)
    with pytest.raises(KeyboardInterrupt):
        world.work()
    world.let_lease_expire(job_id)

    assert world.poll().reaped == 1
    assert world.job(job_id).last_error_code == "worker_lost"
    assert_it_is_over(world, job_id)


def test_a_second_attempt_can_be_asked_to_stop_like_the_first(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.script.then(RuntimeError())
    world.work()
    world.clock.advance(RETRY_DELAY)

    def work(context: JobContext) -> None:
        ask(world, context.job_id)
        raise RuntimeError

    world.script.then(work)

    assert world.work() == ["cancelled"]
    assert_it_is_over(world, job_id, runs=2)


def test_who_asks_again_is_told_the_same_and_the_last_reason_stays(world: World) -> None:
    world.queue.enqueue("report")

    def work(context: JobContext) -> None:
        assert not world.queue.cancel(context.job_id, reason="first").job_ended
        assert not world.queue.cancel(context.job_id, reason="second").job_ended
        raise RuntimeError

    world.script.then(work)

    assert world.work() == ["cancelled"]
    assert [each["reason"] for each in world.recorder.of(Event.JOB_CANCELLED)] == ["second"]


def test_a_job_that_fails_while_it_is_being_asked_is_cancelled_where_it_waits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator saw it run; when the request arrives, it has failed and waits for its next attempt."""
    job_id = world.queue.enqueue("report").job_id
    attempt = Executor(world.services, worker_id="worker").begin(world.claim_one())
    assert isinstance(attempt, Attempt)
    transact, attempts = world.table.transact, [attempt]

    def transact_late(*args: object, **options: object) -> None:
        if attempts:
            fail(attempts.pop(), Failure(error="interrupted", code="RuntimeError"))
        transact(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(world.table, "transact", transact_late)

    assert world.queue.cancel(job_id, reason="no longer needed").job_ended
    assert_it_is_over(world, job_id)


def test_a_limited_job_that_was_asked_to_stop_gives_its_seat_back(world: World) -> None:
    world.deploy(JobType(name="report", concurrency=1), *[each for each in TYPES if each.name != "report"])
    world.queue.enqueue("report")
    world.clock.advance(timedelta(milliseconds=1))
    next_one = world.queue.enqueue("report").job_id

    def work(context: JobContext) -> None:
        ask(world, context.job_id)
        raise Cancel("no longer needed")

    world.script.then(work)

    assert world.work() == ["cancelled"]
    assert world.work() == ["completed"]
    assert world.status(next_one) is JobStatus.COMPLETED
