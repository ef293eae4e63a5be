"""Cancelling a job in each stage of its life, and jobs that were not started in time."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Cancel, JobStatus, Snooze
from leasehold.kernel.errors import JobNotFoundError, WrongStateError
from leasehold.kernel.keys import JobPartition, make_job_id
from tests.contract.world import RETRY_DELAY

if TYPE_CHECKING:
    from leasehold import JobContext
    from tests.contract.world import World


def asked_to_stop(world: World, then: object) -> str:
    """Run a job that is asked to stop while it runs, and ends as `then` says; returns its id."""
    job_id = world.queue.enqueue("report").job_id

    def work(context: JobContext) -> str:
        assert not world.queue.cancel(context.job_id, reason="no longer needed").job_ended
        if isinstance(then, BaseException):
            raise then
        return str(then)

    world.script.then(work)
    world.work()
    return job_id


def test_a_waiting_job_is_cancelled_and_never_runs(world: World) -> None:
    job_id = world.queue.enqueue("report", run_in=timedelta(hours=1)).job_id

    assert world.queue.cancel(job_id, reason="no longer needed").job_ended

    job = world.job(job_id)
    assert (job.status, job.cancel_reason, job.due) == (JobStatus.CANCELLED, "no longer needed", None)
    assert job.expires_at is not None
    world.clock.advance(timedelta(hours=2))
    assert world.work() == []


def test_a_job_that_waits_for_its_retry_is_cancelled(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.script.then(RuntimeError())
    world.work()

    assert world.queue.cancel(job_id, reason="enough").job_ended

    world.clock.advance(RETRY_DELAY)
    assert world.work() == []
    assert world.status(job_id) is JobStatus.CANCELLED


def test_a_claimed_job_that_has_not_started_is_cancelled_and_does_not_start(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    handover = world.claim_one()

    assert world.queue.cancel(job_id, reason="no longer needed").job_ended

    assert world.worker.run(handover) == "not_started"
    assert world.status(job_id) is JobStatus.CANCELLED
    assert world.script.seen == []


def test_a_running_job_that_is_asked_to_stop_and_fails_is_cancelled_instead_of_retried(world: World) -> None:
    job = world.job(asked_to_stop(world, RuntimeError("interrupted")))

    assert (job.status, job.cancel_reason, job.due) == (JobStatus.CANCELLED, "no longer needed", None)
    assert (job.last_error_code, len(job.runs)) == ("RuntimeError", 1)


def test_a_running_job_that_is_asked_to_stop_and_snoozes_is_cancelled(world: World) -> None:
    assert world.status(asked_to_stop(world, Snooze(5))) is JobStatus.CANCELLED


def test_a_job_that_is_asked_to_stop_in_its_last_attempt_is_cancelled_and_leaves_no_dead_letter(world: World) -> None:
    job_id = world.queue.enqueue("once").job_id

    def work(context: JobContext) -> None:
        world.queue.cancel(context.job_id, reason="no longer needed")
        raise RuntimeError

    world.script.then(work)
    assert world.work() == ["cancelled"]

    assert world.status(job_id) is JobStatus.CANCELLED
    assert list(world.operator.dead_letters()) == []


def test_a_running_job_that_is_asked_to_stop_and_completes_all_the_same_is_completed(world: World) -> None:
    job = world.job(asked_to_stop(world, "too late"))

    assert (job.status, job.result) == (JobStatus.COMPLETED, "too late")


def test_a_handler_sees_that_it_was_asked_to_stop(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id

    def work(context: JobContext) -> None:
        assert not context.cancel_requested
        world.queue.cancel(context.job_id, reason="no longer needed")
        world.clock.advance(timedelta(seconds=5))
        if context.cancel_requested:
            raise Cancel("as requested")

    world.script.then(work)

    assert world.work() == ["cancelled"]
    assert world.status(job_id) is JobStatus.CANCELLED


def test_an_ended_job_cannot_be_cancelled(world: World) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.work()

    with pytest.raises(WrongStateError):
        world.queue.cancel(job_id, reason="too late")

    assert world.status(job_id) is JobStatus.COMPLETED


def test_a_job_that_does_not_exist_cannot_be_cancelled(world: World) -> None:
    with pytest.raises(JobNotFoundError):
        world.queue.cancel(make_job_id(world.clock.now(), JobPartition(1), 7), reason="no such job")


def test_a_job_that_nobody_claimed_in_time_is_cancelled_with_that_reason(world: World) -> None:
    job_id = world.queue.enqueue("report", start_by=world.clock.now() + timedelta(minutes=1)).job_id
    world.clock.advance(timedelta(minutes=1))

    report = world.poll()

    assert (report.expired, report.claimed) == (1, 0)
    job = world.job(job_id)
    assert (job.status, job.due) == (JobStatus.CANCELLED, None)
    assert job.cancel_reason is not None
    assert "not started by 2026-01-01T00:01" in job.cancel_reason


def test_a_job_that_was_claimed_in_time_but_reaches_its_handler_too_late_is_cancelled(world: World) -> None:
    job_id = world.queue.enqueue("report", start_by=world.clock.now() + timedelta(minutes=1)).job_id
    handover = world.claim_one()
    world.clock.advance(timedelta(minutes=1))

    assert world.worker.run(handover) == "expired"

    assert world.status(job_id) is JobStatus.CANCELLED
    assert world.script.seen == []


def test_a_job_that_started_in_time_is_still_retried_after_its_start_by(world: World) -> None:
    job_id = world.queue.enqueue("report", start_by=world.clock.now() + timedelta(seconds=1)).job_id
    world.script.then(RuntimeError(), "done")

    assert world.work() == ["failed"]
    world.clock.advance(RETRY_DELAY)
    assert world.work() == ["completed"]

    assert world.job(job_id).attempts == 2
