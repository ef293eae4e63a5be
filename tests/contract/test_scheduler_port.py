"""The scheduler port: five calls, with claims behind `get_pending_jobs`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from leasehold import JobScheduler, JobSchedulerProtocol, JobStatus
from leasehold.kernel.errors import LeaseLostError, SystemHaltedError
from tests.contract.world import RETRY_DELAY

if TYPE_CHECKING:
    from tests.contract.world import World


def scheduler(world: World) -> JobSchedulerProtocol:
    return JobScheduler(world.queue)


def test_a_scheduled_job_is_pending_at_its_time_and_can_be_completed(world: World) -> None:
    port = scheduler(world)
    job_id = port.schedule("report", {"n": 1}, world.clock.now() + timedelta(hours=1))

    assert isinstance(job_id, UUID)
    assert port.get_pending_jobs(10) == []
    world.clock.advance(timedelta(hours=1))
    (job,) = port.get_pending_jobs(10)
    assert (job.job_id, job.payload, job.status, job.attempts) == (str(job_id), {"n": 1}, JobStatus.IN_PROGRESS, 1)
    port.mark_completed(job_id)

    assert world.status(str(job_id)) is JobStatus.COMPLETED


def test_pending_jobs_come_in_order_up_to_the_limit_and_each_to_one_caller(world: World) -> None:
    first, second = scheduler(world), scheduler(world)
    made = []
    for _ in range(5):
        made.append(str(first.schedule("report", {}, world.clock.now())))
        world.clock.advance(timedelta(milliseconds=1))

    assert [job.job_id for job in first.get_pending_jobs(2)] == made[:2]
    assert [job.job_id for job in second.get_pending_jobs(10)] == made[2:]
    assert first.get_pending_jobs(10) == []


def test_a_job_that_is_marked_failed_is_tried_again_and_dead_lettered_in_the_end(world: World) -> None:
    port = scheduler(world)
    job_id = port.schedule("report", {}, world.clock.now())

    for attempt in (1, 2, 3):
        (job,) = port.get_pending_jobs(1)
        assert job.attempts == attempt
        port.mark_failed(job_id, f"broken {attempt}")
        assert port.get_pending_jobs(1) == []
        world.clock.advance(RETRY_DELAY)

    assert world.status(str(job_id)) is JobStatus.DEAD_LETTER
    dead_letter = world.operator.dead_letter(str(job_id))
    assert (dead_letter.failure_reason, dead_letter.attempts) == ("broken 3", 3)


def test_a_job_can_be_cancelled_until_it_is_taken(world: World) -> None:
    port = scheduler(world)
    waiting = port.schedule("report", {}, world.clock.now() + timedelta(hours=1))
    taken = port.schedule("report", {}, world.clock.now())
    port.get_pending_jobs(1)

    assert [port.cancel(waiting), port.cancel(waiting), port.cancel(taken)] == [True, False, False]
    assert world.status(str(waiting)) is JobStatus.CANCELLED


def test_a_job_that_was_not_taken_here_cannot_be_marked_here(world: World) -> None:
    port = scheduler(world)
    job_id = port.schedule("report", {}, world.clock.now())
    port.get_pending_jobs(1)
    before = world.job(str(job_id))

    with pytest.raises(LeaseLostError):
        scheduler(world).mark_completed(job_id)
    with pytest.raises(LeaseLostError):
        scheduler(world).mark_failed(job_id, "not mine")

    assert world.job(str(job_id)) == before


def test_a_job_whose_lease_was_lost_cannot_be_marked_any_more(world: World) -> None:
    port = scheduler(world)
    job_id = port.schedule("report", {}, world.clock.now())
    port.get_pending_jobs(1)
    world.let_lease_expire(str(job_id))
    world.poll()

    with pytest.raises(LeaseLostError):
        port.mark_completed(job_id)

    assert world.status(str(job_id)) is JobStatus.FAILED


def test_while_halted_nothing_is_scheduled_or_given_out_and_what_was_taken_can_be_marked(world: World) -> None:
    port = scheduler(world)
    taken = port.schedule("report", {}, world.clock.now())
    port.get_pending_jobs(1)
    port.schedule("report", {}, world.clock.now())
    world.operator.halt(reason="bad deploy")

    with pytest.raises(SystemHaltedError):
        port.schedule("report", {}, world.clock.now())
    assert port.get_pending_jobs(10) == []
    port.mark_completed(taken)

    assert world.status(str(taken)) is JobStatus.COMPLETED
