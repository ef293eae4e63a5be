"""Leases: what a late worker may still do, and what becomes of a job whose worker is gone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, Outcome
from leasehold.kernel.end import Failure
from leasehold.kernel.errors import LeaseLostError
from leasehold.kernel.execute import Attempt, Executor
from leasehold.runtime.lease import extend, is_cancel_requested
from leasehold.runtime.signals import abort, fail, snooze
from leasehold.telemetry import Event
from tests.contract.world import RETRY_DELAY

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.jobs import Write
    from tests.contract.world import World


def start(world: World) -> Attempt:
    """Claim the one due job and start it, as a worker does that will then be slow."""
    attempt = Executor(world.services, worker_id="slow").begin(world.claim_one())
    assert isinstance(attempt, Attempt)
    return attempt


def test_a_start_in_time_keeps_the_lease_that_the_claim_made(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    handover = world.claim_one()
    world.clock.advance(timedelta(seconds=60))

    Executor(world.services, worker_id="worker").begin(handover)

    assert world.job(job_id).lock_expires_at == handover.lease.at


def test_a_late_start_gets_a_longer_lease_in_the_same_write(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    handover = world.claim_one()
    world.clock.advance(timedelta(seconds=100))

    attempt = Executor(world.services, worker_id="worker").begin(handover, remaining=timedelta(seconds=60))

    assert isinstance(attempt, Attempt)
    job = world.job(job_id)
    assert job.lock_expires_at == job.due_at == world.clock.now() + timedelta(seconds=65)
    assert job.attempts == 1
    world.clock.move_to(handover.lease.at)
    assert world.poll().reaped == 0


def test_a_job_whose_worker_died_fails_as_lost_and_is_tried_again(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    start(world)
    world.let_lease_expire(job_id)

    assert world.poll().reaped == 1

    job = world.job(job_id)
    assert (job.status, job.last_error_code, job.attempts) == (JobStatus.FAILED, "worker_lost", 1)
    assert job.due_at == world.clock.now() + RETRY_DELAY
    assert [(run.outcome, run.error_code) for run in job.runs] == [(Outcome.FAILED, "worker_lost")]
    (told,) = world.recorder.of(Event.JOB_FAILED)
    assert (told["job_id"], told["will_retry"]) == (job_id, True)
    world.clock.advance(RETRY_DELAY)
    assert world.work() == ["completed"]


def test_a_lease_that_has_not_expired_is_not_reaped(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    attempt = start(world)
    world.clock.move_to(attempt.lease_until - timedelta(milliseconds=1))

    assert world.poll().reaped == 0
    assert world.status(job_id) is JobStatus.IN_PROGRESS


def test_a_job_that_never_started_goes_back_without_using_an_attempt(world: World) -> None:
    job_id = world.queue.enqueue("once").job_id
    handover = world.claim_one()
    world.let_lease_expire(job_id)

    assert world.poll().reaped == 1

    job = world.job(job_id)
    assert (job.status, job.attempts, job.dispatches, job.runs) == (JobStatus.PENDING, 0, 1, ())
    assert job.due_at is not None
    assert job.due_at > world.clock.now()
    assert world.worker.run(handover) == "not_started"
    world.clock.move_to(job.due_at)
    assert world.work() == ["completed"]


def test_a_job_whose_worker_died_in_its_last_attempt_is_dead_lettered(world: World) -> None:
    job_id = world.queue.enqueue("once").job_id
    start(world)
    world.let_lease_expire(job_id)

    assert world.poll().reaped == 1

    assert world.status(job_id) is JobStatus.DEAD_LETTER
    dead_letter = world.operator.dead_letter(job_id)
    assert (dead_letter.error_code, dead_letter.attempts, len(dead_letter.runs)) == ("worker_lost", 1, 1)
    assert len(world.recorder.of(Event.JOB_DEAD_LETTERED)) == 1


def test_a_job_whose_worker_died_after_a_cancel_was_requested_is_cancelled(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    start(world)
    world.queue.cancel(job_id, reason="no longer needed")
    world.let_lease_expire(job_id)

    assert world.poll().reaped == 1

    job = world.job(job_id)
    assert (job.status, job.cancel_reason, job.due) == (JobStatus.CANCELLED, "no longer needed", None)


def test_an_orphan_is_reaped_once(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    start(world)
    world.let_lease_expire(job_id)

    assert [world.poll().reaped, world.poll().reaped] == [1, 0]
    assert len(world.job(job_id).runs) == 1


def test_a_zombie_may_complete_as_long_as_nobody_reaped_its_job(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    attempt = start(world)
    world.clock.advance(timedelta(days=1))

    attempt.complete('"late"')

    assert (world.status(job_id), world.job(job_id).result) == (JobStatus.COMPLETED, "late")


def test_a_lease_can_be_extended_until_it_expires(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    attempt = start(world)
    world.clock.advance(timedelta(seconds=100))

    until = extend(attempt)

    assert world.job(job_id).lock_expires_at == world.job(job_id).due_at == until
    assert until == world.clock.now() + world.types["report"].lease_length
    world.clock.move_to(until)
    with pytest.raises(LeaseLostError):
        extend(attempt)
    assert world.job(job_id).lock_expires_at == until


def test_a_zombie_can_do_nothing_after_the_reap(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    zombie = start(world)
    world.let_lease_expire(job_id)
    world.poll()
    reaped = world.job(job_id)

    for say in (
        lambda: zombie.complete(None),
        lambda: fail(zombie, Failure(error="late", code="late")),
        lambda: fail(zombie, Failure(error="late", code="late", is_retryable=False)),
        lambda: snooze(zombie, timedelta(seconds=1)),
        lambda: abort(zombie, "late"),
        lambda: is_cancel_requested(zombie),
        lambda: extend(zombie),
    ):
        with pytest.raises(LeaseLostError):
            say()

    assert world.job(job_id) == reaped
    assert list(world.operator.dead_letters()) == []


def test_a_zombie_cannot_touch_the_next_attempt(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    zombie = start(world)
    world.let_lease_expire(job_id)
    world.poll()
    world.clock.advance(RETRY_DELAY)
    current = start(world)
    running = world.job(job_id)

    with pytest.raises(LeaseLostError):
        zombie.complete(None)

    assert world.job(job_id) == running
    current.complete('"mine"')
    assert world.job(job_id).result == "mine"


def test_of_two_extensions_at_the_same_time_the_shorter_one_has_lost_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = world.queue.enqueue("report").job_id
    attempt = start(world)
    advance = world.services.store.jobs.apply_and_read

    def overtaken(write: Write) -> Job:
        monkeypatch.undo()
        world.clock.advance(timedelta(seconds=1))
        overtaking.append(extend(attempt))
        return advance(write)

    overtaking: list[datetime] = []
    monkeypatch.setattr(world.services.store.jobs, "apply_and_read", overtaken)

    assert extend(attempt) == overtaking[0] == world.job(job_id).lock_expires_at
    attempt.complete(None)
    assert world.status(job_id) is JobStatus.COMPLETED
