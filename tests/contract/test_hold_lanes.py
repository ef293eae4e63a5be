"""Hold lanes: jobs that may not run now wait where they are in nobody's way, and come back in order."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, JobType
from leasehold.kernel.errors import UnknownJobTypeError
from leasehold.kernel.poll import Poller
from tests.contract.world import TYPES

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover
    from tests.contract.world import World


def enqueue(world: World, job_type: str, count: int) -> list[str]:
    """Enqueue jobs a millisecond apart, so that their order is known."""
    made: list[str] = []
    for _ in range(count):
        made.append(world.queue.enqueue(job_type).job_id)
        world.clock.advance(timedelta(milliseconds=1))
    return made


def ids(handovers: list[Handover]) -> list[str]:
    return [handover.job_id for handover in handovers]


def test_jobs_of_a_paused_type_are_held_once_and_others_run(world: World) -> None:
    held = enqueue(world, "email", 3)
    other = world.queue.enqueue("report").job_id
    assert world.operator.pause("email", reason="provider is down")

    first, second = world.poll(), world.poll()

    assert (first.held, first.claimed) == (3, 1)
    assert (second.held, second.scanned) == (0, 0)
    assert ids(world.dispatches.handovers) == [other]
    assert all(world.job(job_id).is_held and world.status(job_id) is JobStatus.PENDING for job_id in held)


def test_a_paused_type_can_still_be_enqueued_and_tells_who_paused_it(world: World) -> None:
    world.operator.pause("email", reason="provider is down")

    job_id = world.queue.enqueue("email").job_id

    assert world.status(job_id) is JobStatus.PENDING
    switch = world.operator.switches().pauses["email"]
    assert (switch.by, switch.at, switch.reason) == ("ada", world.clock.now(), "provider is down")
    assert not world.operator.pause("email", reason="again")


def test_held_jobs_run_in_order_as_soon_as_the_pause_ends(world: World) -> None:
    held = enqueue(world, "email", 4)
    world.operator.pause("email", reason="provider is down")
    world.poll()
    world.clock.advance(timedelta(hours=3))
    world.poll()

    assert world.operator.unpause("email")

    assert ids(world.claim()) == held
    assert not world.operator.unpause("email")


def test_a_hand_over_that_meets_a_pause_goes_back_and_uses_no_attempt(world: World) -> None:
    job_id = world.queue.enqueue("once").job_id
    handover = world.claim_one()
    world.operator.pause("once", reason="wait")

    assert world.worker.run(handover) == "released"

    job = world.job(job_id)
    assert (job.status, job.attempts) == (JobStatus.PENDING, 0)
    world.operator.unpause("once")
    world.clock.advance(timedelta(minutes=1))
    assert world.work() == ["completed"]


def test_jobs_of_a_type_that_is_no_longer_deployed_wait_until_it_is_again(world: World) -> None:
    job_id = world.queue.enqueue("email").job_id
    world.deploy(*[each for each in TYPES if each.name != "email"])

    assert world.poll().held == 1
    with pytest.raises(UnknownJobTypeError):
        world.queue.enqueue("email")
    world.clock.advance(timedelta(days=2))
    assert world.work() == []
    world.deploy(*TYPES)

    assert world.work() == ["completed"]
    assert world.status(job_id) is JobStatus.COMPLETED


def test_a_held_job_can_be_cancelled(world: World) -> None:
    job_id = world.queue.enqueue("email").job_id
    world.operator.pause("email", reason="provider is down")
    world.poll()

    assert world.queue.cancel(job_id, reason="not needed").job_ended

    world.operator.unpause("email")
    assert world.work() == []


def test_no_more_jobs_of_a_limited_type_are_claimed_than_it_has_seats(world: World) -> None:
    jobs = enqueue(world, "limited", 5)

    first = world.claim()

    assert ids(first) == jobs[:2]
    assert world.claim() == []
    world.worker.run(first[0])
    second = world.claim()
    assert ids(second) == jobs[2:3]
    for handover in [*first[1:], *second]:
        world.worker.run(handover)
    assert ids(world.claim()) == jobs[3:]


def test_every_end_of_a_limited_job_frees_its_seat(world: World) -> None:
    cancelled = enqueue(world, "limited", 2)
    world.claim()
    for job_id in cancelled:
        world.queue.cancel(job_id, reason="not needed")

    world.dispatches.failure = "throttled"
    enqueue(world, "limited", 2)
    assert world.poll().released == 2
    world.dispatches.failure = None
    world.clock.advance(timedelta(minutes=1))

    assert len(world.claim()) == 2


def test_a_limited_job_that_starts_too_late_frees_its_seat(world: World) -> None:
    too_late = [world.queue.enqueue("limited", start_by=world.clock.now() + timedelta(seconds=9)) for _ in range(2)]
    handovers = world.claim()
    assert len(handovers) == len(too_late)
    world.clock.advance(timedelta(seconds=9))
    assert [world.worker.run(handover) for handover in handovers] == ["expired", "expired"]

    world.queue.enqueue("limited")

    assert world.work() == ["completed"]


def test_the_seat_of_a_lost_worker_is_free_once_its_time_is_over(world: World) -> None:
    enqueue(world, "limited", 2)
    world.claim()
    late = world.queue.enqueue("limited").job_id
    world.poll()
    assert world.job(late).is_held

    # The lease and the seat end together here: the reap comes first, and the seats of the reaped are taken over.
    world.clock.advance(world.types["limited"].full_lease)
    claimed: list[str] = []
    for _ in range(3):
        claimed += ids(world.claim())
        world.clock.advance(timedelta(minutes=1))

    assert late in claimed


def test_a_limited_type_that_was_full_before_starts_a_new_job_at_once(world: World) -> None:
    enqueue(world, "limited", 5)
    for _ in range(4):
        world.work()
    world.clock.advance(timedelta(minutes=2))
    world.work()

    job_id = world.queue.enqueue("limited").job_id

    assert world.work() == ["completed"]
    assert world.status(job_id) is JobStatus.COMPLETED


def test_a_worker_with_a_long_name_can_take_the_same_seat_again(world: World) -> None:
    name = "poller-of-a-machine-with-a-very-long-name.eu-central-1.compute.internal"
    world.poller = Poller(world.services, world.dispatches, worker_id=name)

    for _ in range(3):
        world.queue.enqueue("limited")
        assert world.work() == ["completed"]


def test_a_type_that_is_new_starts_at_once(world: World) -> None:
    world.deploy(*TYPES, JobType(name="newcomer", concurrency=1))

    world.queue.enqueue("newcomer")

    assert world.work() == ["completed"]
