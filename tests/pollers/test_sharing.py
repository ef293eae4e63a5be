"""Who works off which shards, where several pollers share a backlog."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leasehold.kernel.job_type import JobType
from leasehold.kernel.lanes import Lane
from leasehold.kernel.poll import Poll, Poller, PollSettings
from leasehold.kernel.registry import Registry
from leasehold.operate.operator import Operator
from leasehold.pollers.sharing import Part, share
from leasehold.testing import LeaseholdTest

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
