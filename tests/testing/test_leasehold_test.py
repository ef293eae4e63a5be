"""The kit for users' tests: a whole queue in memory that runs when told to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.errors import InvalidOptionError, InvalidPayloadError, UnknownJobTypeError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.retry import Fixed
from leasehold.kernel.transitions import JobStatus
from leasehold.runtime.signals import Snooze
from leasehold.testing import FakeClock, LeaseholdTest, SeededRandomSource
from tests.handlers import handler_that, raising

if TYPE_CHECKING:
    from leasehold.kernel.payload import Json


def succeed(_context) -> None:
    return None


def test_drain_counts_how_each_hand_over_went():
    world = LeaseholdTest({"good": handler_that(succeed), "bad": handler_that(raising(RuntimeError("no")))})
    world.queue.enqueue_many([NewJob(job="good") for _ in range(3)])
    world.queue.enqueue("bad")

    drained = world.drain()

    assert (drained["completed"], drained["failed"], drained["cancelled"], drained.total) == (3, 1, 0, 4)
    assert world.drain().total == 0


def test_drain_runs_only_what_is_due():
    world = LeaseholdTest({"good": handler_that(succeed)})
    world.queue.enqueue("good", run_in=timedelta(minutes=5))

    assert world.drain().total == 0
    world.clock.advance(timedelta(minutes=5))
    assert world.drain()["completed"] == 1


def test_drain_runs_what_becomes_due_while_it_runs():
    world = LeaseholdTest({"child": handler_that(succeed)})
    world.register("parent", handler_that(lambda _context: world.queue.enqueue("child").job_id))
    world.queue.enqueue_many([NewJob(job="parent", priority=0) for _ in range(30)])

    assert world.drain()["completed"] == 60


def test_drain_until_idle_lets_the_clock_jump_to_whatever_is_next():
    world = LeaseholdTest(
        {"good": handler_that(succeed), "bad": handler_that(raising(RuntimeError("no")))},
        types=[JobType(name="bad", max_attempts=3, retry=Fixed(timedelta(hours=1)))],
    )
    world.queue.enqueue("good", run_in=timedelta(days=30))
    world.queue.enqueue("bad")

    drained = world.drain(until_idle=True)

    assert drained.counts == {"completed": 1, "failed": 2, "dead_letter": 1}
    assert world.clock.now() == datetime(2026, 1, 31, tzinfo=UTC)


def test_drain_until_idle_works_off_a_concurrency_limit():
    world = LeaseholdTest({"one": handler_that(succeed)}, types=[JobType(name="one", concurrency=1)])
    world.queue.enqueue_many([NewJob(job="one") for _ in range(5)])

    assert world.drain(until_idle=True)["completed"] == 5


def test_drain_until_idle_ends_when_nothing_can_run():
    world = LeaseholdTest({"good": handler_that(succeed), "paused": handler_that(succeed)})
    world.queue.enqueue("good")
    world.queue.enqueue("paused")
    world.operator.pause("paused", reason="test")
    assert world.drain(until_idle=True)["completed"] == 1

    world.queue.enqueue("good")
    world.operator.halt(reason="test")
    assert world.drain(until_idle=True).total == 0


def test_drain_gives_up_on_a_handler_that_never_ends():
    world = LeaseholdTest({"sleepy": handler_that(raising(Snooze(1)))})
    world.queue.enqueue("sleepy")

    with pytest.raises(InvalidOptionError, match=r"more hand-overs than at_most: got 10\. A handler may"):
        world.drain(until_idle=True, at_most=10)


def test_inline_runs_each_job_as_it_is_enqueued():
    ran = []
    world = LeaseholdTest({"good": handler_that(lambda context: ran.append(context.job_id))}, inline=True)

    first = world.queue.enqueue("good").job_id
    assert ran == [first]
    world.queue.enqueue_many([NewJob(job="good"), NewJob(job="good")])
    assert len(ran) == 3
    world.queue.enqueue("good", run_in=timedelta(hours=1))
    assert len(ran) == 3


def test_inline_runs_what_a_handler_enqueues_too_and_counts_it():
    world = LeaseholdTest({"child": handler_that(succeed)})
    world.register("parent", handler_that(lambda _context: world.queue.enqueue("child").job_id))
    world.queue.enqueue("parent")
    world.queue.enqueue("parent")
    world.inline = True

    assert world.drain()["completed"] == 4
    assert {job.status for job in world.jobs()} == {JobStatus.COMPLETED}


def test_payloads_make_the_round_trip_through_json():
    world = LeaseholdTest({"good": handler_that(succeed)})
    ids: list[Json] = [1, 2]
    job_id = world.queue.enqueue("good", {"ids": ids}).job_id
    ids.append(3)

    assert world.queue.get(job_id).payload == {"ids": [1, 2]}
    with pytest.raises(InvalidPayloadError, match=r"payload\.ids is a tuple"):
        world.queue.enqueue("good", {"ids": (1, 2)})  # type: ignore[dict-item]


def test_an_empty_world_has_nothing_to_run():
    assert LeaseholdTest().drain(until_idle=True).total == 0


def test_a_type_that_was_not_registered_is_refused_like_one_that_is_not_deployed():
    with pytest.raises(UnknownJobTypeError, match="Deployed types: none"):
        LeaseholdTest().queue.enqueue("good")


def test_jobs_lists_all_of_them_by_time():
    world = LeaseholdTest({"good": handler_that(succeed), "other": handler_that(succeed)})
    later = world.queue.enqueue("good", run_in=timedelta(hours=1)).job_id
    sooner = world.queue.enqueue("good").job_id
    world.queue.enqueue("other")
    world.drain()

    assert [job.job_id for job in world.jobs("good")] == [sooner, later]
    assert len(world.jobs()) == 3


def test_the_same_test_gives_the_same_ids():
    worlds = [LeaseholdTest({"good": handler_that(succeed)}) for _ in range(2)]

    assert len({world.queue.enqueue("good").job_id for world in worlds}) == 1


def test_the_clock_never_goes_back_by_itself_and_sleeping_takes_no_time():
    clock = FakeClock()
    start = clock.now()
    clock.move_to(start - timedelta(days=1))
    assert clock.now() == start

    clock.sleep(timedelta(days=1))
    assert clock.now() == start + timedelta(days=1)


def test_random_source_repeats_by_its_seed():
    assert [SeededRandomSource(7).bits(64), SeededRandomSource(7).share()] == [
        SeededRandomSource(7).bits(64),
        SeededRandomSource(7).share(),
    ]
    assert SeededRandomSource(7).bits(64) != SeededRandomSource(8).bits(64)
