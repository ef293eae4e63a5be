"""Who works off which shards, where several pollers share a backlog."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.kernel.claim import Claims
from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import Priority, run_lane
from leasehold.kernel.lanes import Lane
from leasehold.kernel.poll import Poll, Poller, PollSettings
from leasehold.kernel.registry import Registry
from leasehold.operate.operator import Operator
from leasehold.pollers.sharing import Part, share
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.jobs import DueEntry
    from leasehold.kernel.registry import Switches

PLAIN = JobType(name="plain")


class Nowhere:
    """Takes every hand-over and starts none."""

    def dispatch(self, *_: object) -> None:
        pass


def sharded(shards: int) -> LeaseholdTest:
    world = LeaseholdTest(types=[PLAIN])
    Operator(world.services).publish(Registry(types={"plain": PLAIN}, shards=shards))
    return world


def poll_of(world: LeaseholdTest) -> Poll:
    poll = Poll(Poller(world.services, Nowhere(), worker_id="tick"), None)
    poll.registry = world.services.deployment.registry()
    return poll


@pytest.mark.parametrize(("shards", "pollers"), [(15, 15), (16, 16), (17, 16), (32, 16)])
def test_sixteen_pollers_at_the_most_share_a_large_backlog(shards: int, pollers: int) -> None:
    world = LeaseholdTest(types=[PLAIN])
    for _ in range(60):
        world.queue.enqueue("plain")
    Operator(world.services).publish(Registry(types={"plain": PLAIN}, shards=shards))
    called: list[Part] = []

    Poller(world.services, Nowhere(), worker_id="tick", call_helper=called.append).poll()

    assert called == [Part(number, pollers) for number in range(1, pollers)]


def test_a_page_that_is_a_part_below_a_busy_lane_is_no_large_backlog() -> None:
    world = LeaseholdTest(types=[PLAIN])
    world.queue.enqueue("plain", priority="high")
    for _ in range(30):
        world.queue.enqueue("plain")
    Operator(world.services).publish(Registry(types={"plain": PLAIN}, shards=2))
    called: list[Part] = []

    poller = Poller(
        world.services,
        Nowhere(),
        worker_id="tick",
        settings=PollSettings(poll_limit=100, lower_share=0.1),
        call_helper=called.append,
    )

    assert poller.poll().claimed == 31
    assert called == []


def test_a_lane_that_was_left_to_another_poller_is_looked_at_again_after_half_a_minute() -> None:
    world = LeaseholdTest(types=[PLAIN])
    for _ in range(10):
        world.queue.enqueue("plain")
    for _ in range(5):
        world.queue.enqueue("plain", priority="low")
    now = world.clock.now()
    assert world.services.store.pollers.take_shard_lock(0, "killed", now, now + timedelta(seconds=10))

    class Slow(Nowhere):
        def dispatch(self, *_: object) -> None:
            world.clock.advance(timedelta(seconds=7))

    assert Poller(world.services, Slow(), worker_id="tick").poll().claimed == 15


class Losing(Nowhere):
    """Another is quicker with the second of these jobs, once the first is handed over."""

    def __init__(self, world: LeaseholdTest, count: int) -> None:
        self.taken: list[int] = []
        self.world, self.jobs = world, list[str]()
        for _ in range(count):
            world.clock.advance(timedelta(seconds=1))
            self.jobs.append(world.queue.enqueue("plain").job_id)

    def dispatch(self, *given: Any) -> None:
        if given[0].job_id in self.jobs:
            self.taken.append(self.jobs.index(given[0].job_id))
            if len(self.taken) == 1:
                self.lose()

    def lose(self) -> None:
        self.world.queue.cancel(self.jobs[1], reason="another was quicker with it")


def test_whoever_was_not_the_first_goes_on_from_the_other_end_of_the_page() -> None:
    world = LeaseholdTest(types=[PLAIN])
    platform = Losing(world, 5)

    report = Poller(world.services, platform, worker_id="tick").poll()

    assert (report.lost_races, platform.taken) == (1, [0, 4, 3, 2])


def test_whoever_was_not_the_first_leaves_the_lane_to_whoever_has_its_lock() -> None:
    world = LeaseholdTest(types=[PLAIN])

    class LosingToOne(Losing):
        def lose(self) -> None:
            super().lose()
            now = world.clock.now()
            assert world.services.store.pollers.take_shard_lock(0, "quicker", now, now + timedelta(seconds=10))

    platform = LosingToOne(world, 5)

    assert Poller(world.services, platform, worker_id="tick").poll().lost_races == 1
    assert platform.taken == [0]


def test_the_page_behind_one_that_was_read_from_its_other_end_is_read_in_order() -> None:
    world, worked_off = LeaseholdTest(types=[PLAIN]), []
    for _ in range(3):
        world.queue.enqueue("plain")
    poll, lane = poll_of(world), Lane(run_lane(Priority.NORMAL, 0), 0)
    page = world.services.store.jobs.due(lane.name, world.clock.now(), limit=10).entries

    class Noting(Claims):
        def work_off(self, entries: Sequence[DueEntry], switches: Switches) -> bool:
            worked_off.append(list(entries))
            return True

    lane.is_contended = True
    for _ in range(2):
        share(poll).work_off(lane, Noting(poll), page, poll.read_switches())

    assert worked_off == [list(page)[::-1], list(page)]


@pytest.mark.parametrize(("visited", "order"), [([0, 1, 2, 3], [2, 3, 0, 1]), ([0, 3], [3, 0]), ([0, 1], [0, 1])])
def test_a_poller_begins_at_its_own_shards_as_far_as_it_visits_them(visited: list[int], order: list[int]) -> None:
    sharing = share(poll_of(sharded(4)), Part(1, 2))

    assert [lane.shard for lane in sharing.arranged([Lane(f"1#{shard}", shard) for shard in visited])] == order


def test_whoever_is_busy_with_its_own_shards_looks_at_all_every_two_seconds() -> None:
    world = sharded(4)
    sharing = share(poll_of(world), Part(1, 2))
    looks = []
    for _ in range(40):
        world.clock.advance(timedelta(milliseconds=100))
        looks.append(sharing.looks_at_all(is_busy=True))

    assert [number for number, has_looked in enumerate(looks, 1) if has_looked] == [20, 40]
    assert sharing.looks_at_all(is_busy=False)


def test_a_lock_is_nobody_s_from_its_end_on() -> None:
    world = sharded(2)
    sharing = share(poll_of(world))
    assert sharing.take(1)
    held = []
    for _ in range(3):
        held.append(sharing.has(1))
        world.clock.advance(timedelta(seconds=5))

    assert held == [True, True, False]
    assert not sharing.has(0)
