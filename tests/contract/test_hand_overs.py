"""Hand-overs that reach no handler: back off, use no attempt, and are given up only after many of them and a day."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold import JobStatus
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from leasehold import Job
    from tests.contract.world import World

MANY = 20


def fail_hand_over(world: World, job_id: str) -> Job:
    """Let the next hand-over of a job fail at the moment it is due."""
    due_at = world.job(job_id).due_at
    assert due_at is not None
    world.clock.move_to(due_at)
    assert world.poll().claimed == 1
    return world.job(job_id)


def test_a_job_whose_hand_over_failed_is_released_and_uses_no_attempt(world: World) -> None:
    job_id = world.queue.enqueue("once").job_id
    world.dispatches.failure = "throttled"

    report = world.poll()

    assert (report.claimed, report.dispatched, report.released) == (1, 0, 1)
    job = world.job(job_id)
    assert (job.status, job.attempts, job.dispatches, job.locked_by) == (JobStatus.PENDING, 0, 1, None)
    assert job.due_at is not None
    assert job.due_at > world.clock.now()
    world.dispatches.failure = None
    world.clock.move_to(job.due_at)
    assert world.work() == ["completed"]


def test_failed_hand_overs_back_off_further_each_time(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.dispatches.failure = "throttled"

    waits = []
    for _ in range(12):
        job = fail_hand_over(world, job_id)
        assert job.due_at is not None
        waits.append(job.due_at - world.clock.now())

    # Each wait is up to half as long again by chance; doubling is more than that.
    assert waits[:8] == sorted(waits[:8])
    assert timedelta(seconds=1) <= waits[0] <= timedelta(seconds=1.5)
    assert timedelta(minutes=5) <= waits[-1] <= timedelta(minutes=7.5)


def test_a_start_forgives_all_failed_hand_overs(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.dispatches.failure = "throttled"
    for _ in range(3):
        fail_hand_over(world, job_id)
    world.dispatches.failure = None
    world.script.then(RuntimeError())
    due_at = world.job(job_id).due_at
    assert due_at is not None
    world.clock.move_to(due_at)

    world.work()

    assert (world.job(job_id).attempts, world.job(job_id).dispatches) == (1, 0)


def test_many_failed_hand_overs_within_a_day_do_not_give_a_job_up(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.dispatches.failure = "throttled"

    for _ in range(MANY + 2):
        fail_hand_over(world, job_id)

    job = world.job(job_id)
    assert (job.status, job.dispatches, job.attempts) == (JobStatus.PENDING, MANY + 2, 0)


def test_a_day_of_few_failed_hand_overs_does_not_give_a_job_up(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.dispatches.failure = "throttled"
    world.clock.advance(timedelta(days=2))

    for _ in range(MANY - 1):
        fail_hand_over(world, job_id)

    job = world.job(job_id)
    assert (job.status, job.dispatches) == (JobStatus.PENDING, MANY - 1)


def test_many_failed_hand_overs_and_a_day_dead_letter_a_job(world: World) -> None:
    job_id = world.queue.enqueue("report", {"n": 4}).job_id
    world.dispatches.failure = "no such function"
    for _ in range(MANY):
        fail_hand_over(world, job_id)
    world.clock.advance(timedelta(days=1))

    world.poll()

    job = world.job(job_id)
    assert (job.status, job.last_error_code, job.attempts) == (JobStatus.DEAD_LETTER, "undeliverable", 0)
    dead_letter = world.operator.dead_letter(job_id)
    assert (dead_letter.error_code, dead_letter.payload, dead_letter.runs) == ("undeliverable", {"n": 4}, ())
    assert "no such function" in dead_letter.failure_reason
    assert len(world.recorder.of(Event.JOB_DEAD_LETTERED)) == 1


def test_many_hand_overs_that_were_taken_but_never_started_dead_letter_a_job_after_a_day(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.dispatches.failure = "throttled"
    for _ in range(MANY - 1):
        fail_hand_over(world, job_id)
    world.dispatches.failure = None
    world.clock.advance(timedelta(days=1))
    world.claim_one()
    world.let_lease_expire(job_id)

    assert world.poll().reaped == 1

    assert (world.status(job_id), world.operator.dead_letter(job_id).error_code) == (
        JobStatus.DEAD_LETTER,
        "undeliverable",
    )


def test_the_day_counts_from_the_first_hand_over_that_failed(world: World) -> None:
    """A job that waited for days before, paused or rescheduled, has its day like any other."""
    job_id = world.queue.enqueue("report").job_id
    world.clock.advance(timedelta(days=3))
    world.dispatches.failure = "throttled"

    for _ in range(MANY + 5):
        fail_hand_over(world, job_id)

    assert world.status(job_id) is JobStatus.PENDING
