"""Who waits for a shared seat is served in turn, as often as its weight, and each lane in its own order."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobType, Priority
from leasehold.features import Store
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.poll import Poll
from leasehold.kernel.registry import Registry
from leasehold.kernel.table import JOBS, Key, Put
from leasehold.limits.admission import Admission
from leasehold.limits.looks import Looks
from leasehold.limits.scopes import Lane
from leasehold.limits.turns import Visit
from tests.contract.world import World

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover


def world_of(seats: int, **weights: int) -> World:
    world = World(MemoryTable())
    types = {name: JobType(name=name, resources=("gpu",), weight=weight) for name, weight in weights.items()}
    world.operator.publish(Registry(types=types, resources={"gpu": seats}))
    return world


def served(world: World, count: int) -> str:
    """Whose jobs are started while one job after the other ends, by their first letters."""
    running = world.claim()
    order = ""
    while len(order) < count:
        assert running, order
        first = running.pop(0)
        order += first.job_type[0]
        assert world.worker.run(first) == "completed"
        world.clock.advance(timedelta(seconds=3))
        running += world.claim()
    return order


def enqueue(world: World, count: int, *names: str) -> None:
    for name in names:
        for _ in range(count):
            world.queue.enqueue(name)
            world.clock.advance(timedelta(milliseconds=1))


def initials(handovers: list[Handover]) -> str:
    return "".join(each.job_type[0] for each in handovers)


@pytest.mark.parametrize(
    ("seats", "order"), [(1, "eoreoreoreoreoreoreo"), (2, "eeoreoreoreoreoreore"), (3, "eeeoreoreoreoreoreor")]
)
def test_whoever_waits_has_its_turn(seats: int, order: str) -> None:
    world = world_of(seats, email=1, once=1, report=1)
    enqueue(world, 8, "email", "once", "report")

    assert served(world, 20) == order


def test_what_left_its_lane_is_not_given_to_a_later_visit_of_the_poll_by_an_index_that_lags() -> None:
    world = World(MemoryTable())
    enqueue(world, 4, "limited")
    assert len(world.claim()) == 2
    looks = Looks(Poll(world.poller, None), Admission(world.services, None))
    lane, now = Lane(priority=Priority.NORMAL, queue="limited"), world.clock.now()
    scope = world.services.store.lines.scope("type:limited")
    first, later = (Visit(looks, scope, now, now) for _ in range(2))
    job = first.next_job(lane)
    assert job is not None

    first.note_gone(job, lane)

    following = later.next_job(lane)
    assert following is not None
    assert following.job_id != job.job_id
    assert following == first.next_job(lane)


def test_a_lane_has_as_many_of_each_turn_as_its_weight() -> None:
    world = world_of(3, email=2, once=1)
    enqueue(world, 12, "email", "once")

    assert served(world, 17) == "eeeoeeoeeoeeoeeoe"


def test_seats_that_are_freed_together_are_given_in_turn() -> None:
    world = world_of(6, email=1, once=1, report=1)
    enqueue(world, 12, "email", "once", "report")
    running = world.claim()
    assert initials(running) == "eeeeee"

    for _ in range(3):
        for handover in running:
            assert world.worker.run(handover) == "completed"
        world.clock.advance(timedelta(seconds=3))
        running = world.claim()
        assert initials(running) in {"oreore", "reoreo", "eoreor"}


def test_a_lane_is_read_behind_what_was_taken_last_where_the_index_may_still_show_it() -> None:
    world = world_of(1, report=1)
    enqueue(world, 4, "report")
    (running,) = world.claim()
    as_it_was = MemoryTable()
    for record in world.table.scan(JOBS):
        as_it_was.write(Put(key=Key(JOBS, (str(record["PK"]), str(record["SK"]))), record=record))
    world.services.store.listings.held = Store(as_it_was).listings.held  # type: ignore[method-assign]

    for _ in range(3):
        world.worker.run(running)
        report = world.poll()
        assert (report.claimed, report.lost_races) == (1, 0)
        (running,) = world.dispatches.handovers
        world.dispatches.handovers.clear()
