"""What one poll hands over: it ends when it is to, shares its shards, and keeps no claimed job waiting."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.batches.model import Batch
from leasehold.kernel.errors import DispatchError, StoreUnavailableError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import Priority, partition_of
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.kernel.registry import Registry
from leasehold.kernel.transitions import JobStatus
from leasehold.operate.operator import Operator
from leasehold.pollers.sharing import Part
from leasehold.pool import InTurn, Stopping
from leasehold.telemetry import Event
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.kernel.ports import Handover
    from leasehold.pool import Pending, Pool


class Hanging:
    """A pool whose calls run one after the other, when they are asked for: each hangs for a while."""

    size = 8

    def submit[T](self, call: Callable[[], T]) -> Pending[T]:
        class Later:
            def done(self) -> bool:
                return False

            def result(self) -> T:
                return call()

        return Later()


class Slow:
    """Takes its time for each hand-over."""

    def __init__(self, world: LeaseholdTest, seconds: float) -> None:
        self.world, self.seconds = world, seconds
        self.taken: list[Handover] = []

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self.world.clock.advance(timedelta(seconds=self.seconds))
        self.taken.append(handover)

    def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
        self.taken += handovers


def test_a_poll_that_has_to_end_puts_back_what_waits_behind_hand_overs_that_hang():
    world = LeaseholdTest(types=[JobType(name="plain")])
    jobs = [world.queue.enqueue("plain") for _ in range(20)]
    platform = Slow(world, 5.0)
    stopping = Stopping(world.clock, deadline=world.clock.now() + timedelta(seconds=4))
    poller = Poller(world.services, platform, worker_id="tick", pool=Hanging())
    report = poller.poll(should_stop=stopping)
    assert (report.dispatched, report.released) == (1, 19)
    assert sum(world.queue.get(job.job_id).status is JobStatus.PENDING for job in jobs) == 19


def test_what_has_not_waited_behind_others_is_handed_over_though_its_poll_has_to_end():
    world = LeaseholdTest(types=[JobType(name="plain")])
    for _ in range(3):
        world.queue.enqueue("plain")
    platform, claimed = Slow(world, 0), Event.JOB_CLAIMED
    report = Poller(world.services, platform, worker_id="tick", pool=Hanging()).poll(
        should_stop=lambda: "time is up" if len(world.telemetry.of(claimed)) == 3 else None
    )
    assert (report.dispatched, report.released) == (3, 0)


def test_a_poll_that_nothing_stops_hands_over_what_waited_behind_others():
    world = LeaseholdTest(types=[JobType(name="plain")])
    for _ in range(3):
        world.queue.enqueue("plain")
    report = Poller(world.services, Slow(world, 5.0), worker_id="tick", pool=Hanging()).poll()
    assert (report.dispatched, report.failed) == (3, 0)


def test_no_more_than_two_pages_are_claimed_and_not_handed_over():
    world = LeaseholdTest(types=[JobType(name="plain")])
    for _ in range(100):
        world.queue.enqueue("plain")
    assert under_way_at_most(world) == (100, 50)


def test_no_more_than_a_page_and_one_more_are_so_where_each_is_claimed_by_itself():
    world = LeaseholdTest(types=[JobType(name="plain")])
    for priority in Priority:
        for _ in range(7):  # fewer than a backlog
            world.queue.enqueue("plain", priority=priority)
    assert under_way_at_most(world) == (28, 26)


def under_way_at_most(world: LeaseholdTest) -> tuple[int, int]:
    """How many jobs a poll hands over, and how many of them were claimed and not handed over at once."""
    under_way: list[int] = [0]

    class Counting(Hanging):
        def submit[T](self, call: Callable[[], T]) -> Pending[T]:
            under_way.append(under_way[-1] + 1)

            def counted() -> T:
                under_way.append(under_way[-1] - 1)
                return call()

            return super().submit(counted)

    platform = Slow(world, 0)
    report = Poller(world.services, platform, worker_id="tick", pool=Counting()).poll()
    assert report.dispatched == len(platform.taken)
    return report.dispatched, max(under_way)


def test_a_hand_over_that_failed_and_could_not_be_put_back_is_reported_and_stops_no_other(monkeypatch):
    world = LeaseholdTest(types=[JobType(name="plain")])
    jobs = [world.queue.enqueue("plain").job_id for _ in range(3)]

    class Refusing(Slow):
        def dispatch(self, handover: Handover, function: str | None) -> None:
            if handover.job_id == jobs[1]:
                raise DispatchError("no")
            super().dispatch(handover, function)

    def fail(*_: object, **__: object) -> bool:
        raise RuntimeError("cannot be written")

    monkeypatch.setattr("leasehold.kernel.release.release", fail)
    platform = Refusing(world, 0)
    report = Poller(world.services, platform, worker_id="tick").poll()
    assert (report.failed, report.dispatched) == (1, 2)
    (failed,) = world.telemetry.of(Event.ENTRY_FAILED)
    assert (failed["entry"], failed["error_code"]) == (jobs[1], "RuntimeError")


@pytest.mark.parametrize("pool", [None, InTurn(), Hanging()], ids=["no pool", "in turn", "side by side"])
def test_a_table_that_is_away_when_a_hand_over_is_put_back_is_reported_also_by_a_poll_that_has_to_end(
    pool: Pool | None, monkeypatch
):
    """Its lease is nobody's until it expires: who asked for the poll has to know."""
    world = LeaseholdTest(types=[JobType(name="plain")])
    for _ in range(10):
        world.queue.enqueue("plain")
    ends: list[str] = []

    class Nobody(Slow):
        def dispatch(self, handover: Handover, function: str | None) -> None:
            ends.append("time is up")
            raise ConnectionError

    tries = iter([StoreUnavailableError("the table is away")])

    def away(*_: object, **__: object) -> bool:
        for error in tries:
            raise error
        return True

    monkeypatch.setattr("leasehold.kernel.release.release", away)
    with pytest.raises(StoreUnavailableError):
        Poller(world.services, Nobody(world, 0), worker_id="tick", pool=pool).poll(
            should_stop=lambda: ends[0] if ends else None
        )


def test_whoever_shares_a_backlog_comes_to_the_shard_of_one_who_never_came():
    world = LeaseholdTest(types=[JobType(name="plain")])
    for _ in range(200):
        world.queue.enqueue("plain")
    Operator(world.services).publish(Registry(types={"plain": JobType(name="plain")}, shards=2))

    class Platform(Slow):
        late: str | None = None

        def dispatch(self, handover: Handover, function: str | None) -> None:
            super().dispatch(handover, function)
            while self.late is None and len(self.taken) > 40:
                job_id = world.queue.enqueue("plain").job_id
                self.late = job_id if partition_of(job_id).shard == 1 else None

    platform = Platform(world, 0.2)
    Poller(world.services, platform, worker_id="tick").poll(part=Part(0, 2))
    assert platform.late in [each.job_id for each in platform.taken[:100]]


@pytest.mark.parametrize(("part", "order"), [(Part(1, 4), [1, 2, 3, 0]), (Part(1, 2), [2, 3, 0, 1])])
def test_a_poller_of_a_part_begins_at_its_own_shards_and_goes_on_with_the_others(part, order):
    world = LeaseholdTest(types=[JobType(name="plain")])
    Operator(world.services).publish(Registry(types={"plain": JobType(name="plain")}, shards=4))
    for _ in range(16):
        world.queue.enqueue("plain")
    platform = Slow(world, 0)
    Poller(world.services, platform, worker_id="tick").poll(part=part)
    assert len(platform.taken) == 16
    shards = [partition_of(each.job_id).shard for each in platform.taken]
    assert list(dict.fromkeys(shards)) == order


@pytest.mark.parametrize(
    ("before", "after", "part", "called"),
    [
        pytest.param(0, 24, Part(0, 1), [Part(1, 2)], id="each of two shards has a backlog"),
        pytest.param(12, 0, Part(0, 1), [], id="one of them has, and a small one"),
        pytest.param(60, 0, Part(0, 1), [Part(1, 2)], id="one of them has a large one"),
        pytest.param(0, 24, Part(0, 2), [], id="it was called itself"),
    ],
)
def test_others_are_called_where_a_backlog_is_more_than_one_s_work(before, after, part, called):
    world = LeaseholdTest(types=[JobType(name="plain")])
    for _ in range(before):
        world.queue.enqueue("plain")
    Operator(world.services).publish(Registry(types={"plain": JobType(name="plain")}, shards=2))
    for _ in range(after):
        world.queue.enqueue("plain")
    parts: list[Part] = []
    platform = Slow(world, 0)
    Poller(world.services, platform, worker_id="tick", call_helper=parts.append).poll(part=part)
    assert (parts, len(platform.taken)) == (called, before + after)


def test_a_lane_that_another_poller_works_off_is_asked_for_once_a_poll(monkeypatch):
    world = LeaseholdTest(types=[JobType(name="plain")])
    for _ in range(10):
        world.queue.enqueue("plain")
    world.queue.enqueue("plain", priority="low")
    pollers, now = world.services.store.pollers, world.clock.now()
    assert pollers.take_shard_lock(0, "other", now, now + timedelta(seconds=10))
    asked: list[int] = []
    whole = pollers.take_shard_lock

    def ask(shard: int, holder: str, now: datetime, until: datetime) -> bool:
        asked.append(shard)
        return whole(shard, holder, now, until)

    monkeypatch.setattr(pollers, "take_shard_lock", ask)
    assert Poller(world.services, Slow(world, 0), worker_id="tick").poll().claimed == 1
    assert asked == [0]


def test_a_claimed_job_of_a_batch_type_does_not_wait_for_the_end_of_its_lane():
    world = LeaseholdTest(types=[JobType(name="plain"), JobType(name="batched", batch=Batch(size=10))])
    batched = world.queue.enqueue("batched").job_id
    for _ in range(200):
        world.queue.enqueue("plain")
    platform = Slow(world, 0.1)
    Poller(world.services, platform, worker_id="tick").poll()
    assert [each.job_id for each in platform.taken].index(batched) < 60


def test_what_waits_for_others_is_handed_over_by_a_poll_that_has_to_end_before_they_come():
    world = LeaseholdTest(types=[JobType(name="batched", batch=Batch(size=10))])
    for _ in range(30):
        world.queue.enqueue("batched")
    platform = Slow(world, 0)
    poller = Poller(world.services, platform, worker_id="tick", settings=PollSettings(poll_limit=3))
    # The second page is claimed, and put back as time is up; the first has waited for it to make up a batch.
    report = poller.poll(should_stop=lambda: "time is up" if len(world.telemetry.of(Event.JOB_CLAIMED)) > 3 else None)
    assert (report.claimed, report.dispatched, report.released) == (6, 3, 3)
    assert len(platform.taken) == 3


def test_a_type_that_is_paused_while_a_poll_goes_on_is_claimed_no_more():
    world = LeaseholdTest(types=[JobType(name="report")])

    class PausesAfterTheFirst:
        taken = 0

        def dispatch(self, handover: Handover, function: str | None) -> None:
            self.taken += 1
            if self.taken == 1:
                Operator(world.services).pause("report")

    for _ in range(3):
        world.queue.enqueue("report")
    platform = PausesAfterTheFirst()
    report = Poller(world.services, platform, worker_id="tick", settings=PollSettings(poll_limit=1)).poll()

    assert (report.claimed, report.held) == (1, 2)
    assert platform.taken == 1


def test_a_dispatcher_that_knows_no_batches_is_given_each_job_of_a_batch_type_by_itself():
    world = LeaseholdTest(types=[JobType(name="batched", batch=Batch(size=10))])
    jobs = [world.queue.enqueue("batched").job_id for _ in range(3)]
    taken: list[str] = []

    class Plain:
        def dispatch(self, handover: Handover, function: str | None) -> None:
            taken.append(handover.job_id)

    report = Poller(world.services, Plain(), worker_id="tick").poll()
    assert report.dispatched == 3
    assert sorted(taken) == sorted(jobs)
