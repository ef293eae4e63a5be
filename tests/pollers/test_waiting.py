"""A resident poller starts scheduled jobs on time, alone, and leaves no gap between two watches."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.job_type import JobType
from leasehold.kernel.poll import Poller
from leasehold.pollers.waiting import WaitingPoller, WaitingSettings
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.ports import Handover


class Arrivals:
    """Notes when each job was handed over."""

    def __init__(self, world: LeaseholdTest) -> None:
        self._world = world
        self.times: dict[str, datetime] = {}

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self.times[handover.job_id] = self._world.clock.now()


@pytest.fixture
def world() -> LeaseholdTest:
    return LeaseholdTest(types=[JobType(name="reminder")])


@pytest.fixture
def arrivals(world: LeaseholdTest) -> Arrivals:
    return Arrivals(world)


def resident(
    world: LeaseholdTest, arrivals: Arrivals, name: str = "tick", settings: WaitingSettings | None = None
) -> WaitingPoller:
    poller = Poller(world.services, arrivals, worker_id=name)
    return WaitingPoller(world.services, poller, worker_id=name, settings=settings)


def test_a_job_due_in_half_a_minute_starts_within_a_second_of_its_time(world, arrivals):
    due_at = world.clock.now() + timedelta(seconds=31, milliseconds=250)
    job = world.queue.enqueue("reminder", run_at=due_at)
    resident(world, arrivals).stay()
    assert timedelta(0) <= arrivals.times[job.job_id] - due_at <= timedelta(seconds=1)


def test_a_tick_with_nothing_near_leaves_at_once(world, arrivals):
    world.queue.enqueue("reminder", run_in=timedelta(hours=1))
    before = world.clock.now()
    assert resident(world, arrivals).stay() == 0
    assert world.clock.now() == before


def test_a_job_that_arrives_while_a_resident_waits_for_a_later_one_is_noticed(world, arrivals):
    world.queue.enqueue("reminder", run_in=timedelta(seconds=60))
    sooner: list[str] = []

    def arrive() -> None:
        if not sooner and world.clock.now().second >= 5:
            sooner.append(world.queue.enqueue("reminder", run_in=timedelta(seconds=10)).job_id)

    resident(world, arrivals).stay(should_stop=arrive)
    due_at = world.queue.get(sooner[0]).scheduled_for
    assert timedelta(0) <= arrivals.times[sooner[0]] - due_at <= timedelta(seconds=1)


def test_a_wake_reserves_a_place_only_where_nobody_resides(world, arrivals):
    world.queue.enqueue("reminder", run_in=timedelta(seconds=20))
    assert resident(world, arrivals, "wake-1").reserve() is not None
    assert resident(world, arrivals, "wake-2").reserve() is None


def test_a_wake_for_a_job_of_tomorrow_reserves_nothing(world, arrivals):
    world.queue.enqueue("reminder", run_in=timedelta(days=1))
    assert resident(world, arrivals, "wake").reserve() is None


def test_a_place_that_was_reserved_and_never_taken_is_free_again_later(world, arrivals):
    world.queue.enqueue("reminder", run_in=timedelta(seconds=20))
    assert resident(world, arrivals, "crashed").reserve() is not None
    world.clock.advance(WaitingSettings().stay)
    assert resident(world, arrivals, "wake").reserve() is not None


def test_a_resident_that_finds_nothing_to_wait_for_gives_its_place_back(world, arrivals):
    """What it was started for may have been done in the meantime; the next wake must find the place free."""
    job = world.queue.enqueue("reminder", run_in=timedelta(seconds=20))
    first = resident(world, arrivals, "first")
    holder = first.reserve()
    world.queue.cancel(job.job_id, reason="done by hand")

    assert first.stay(holder=holder) == 0

    world.queue.enqueue("reminder", run_in=timedelta(seconds=20))
    assert resident(world, arrivals, "second").reserve() is not None


def test_a_resident_that_comes_too_late_leaves_the_place_to_who_has_it(world, arrivals):
    world.queue.enqueue("reminder", run_in=timedelta(seconds=60))
    late = resident(world, arrivals, "late")
    holder = late.reserve()
    world.clock.advance(timedelta(seconds=15))
    assert resident(world, arrivals, "other").reserve() is not None

    assert late.stay(holder=holder) == 0
    assert not arrivals.times


def test_a_tick_takes_over_from_a_resident_which_then_leaves(world, arrivals):
    world.queue.enqueue("reminder", run_in=timedelta(seconds=70))
    old = resident(world, arrivals, "old")
    took_over: list[bool] = []

    def take_over() -> None:
        if not took_over and world.clock.now().second >= 20:
            until = world.clock.now() + timedelta(seconds=75)
            took_over.append(
                world.services.store.pollers.acquire_waiter_lease("new", world.clock.now(), until, from_anyone=True)
            )

    assert old.stay(should_stop=take_over) == 0
    assert world.clock.now().second < 30
    assert world.services.store.pollers.waiter_lease()[0] == "new"
    assert not arrivals.times


def test_a_resident_gives_up_its_place_before_its_last_look(world, arrivals):
    """A wake that found the place taken relies on that look, however late it came."""
    world.queue.enqueue("reminder", run_in=timedelta(seconds=5))
    settings = WaitingSettings(stay=timedelta(seconds=20))
    late: list[str] = []
    leave = world.services.store.pollers.release_waiter_lease

    def enqueue_then_leave(holder: str) -> None:
        if not late:
            late.append(world.queue.enqueue("reminder", run_in=timedelta(seconds=3)).job_id)
        leave(holder)

    world.services.store.pollers.release_waiter_lease = enqueue_then_leave
    resident(world, arrivals, settings=settings).stay()
    assert late[0] in arrivals.times


def test_an_entry_that_cannot_be_handled_does_not_make_a_busy_loop(world, arrivals, monkeypatch):
    world.queue.enqueue("reminder")
    monkeypatch.setattr("leasehold.kernel.claim.Claims.claim", _fail)
    polls = resident(world, arrivals, settings=WaitingSettings(stay=timedelta(seconds=10))).stay()
    assert 1 <= polls <= 10


def test_a_resident_leaves_when_the_system_is_halted(world, arrivals):
    world.queue.enqueue("reminder", run_in=timedelta(seconds=5))
    world.operator.halt(reason="test")
    resident(world, arrivals).stay()
    assert not arrivals.times
    assert world.clock.now().second < 10


def test_below_a_minute_the_tick_stays_and_polls_at_the_interval(world, arrivals):
    settings = WaitingSettings(stay=timedelta(seconds=60), poll_interval=timedelta(seconds=10))
    assert 6 <= resident(world, arrivals, settings=settings).stay() <= 8


def _fail(*_: object) -> None:
    raise RuntimeError("cannot be handled")


BESIDE_WAKES = WaitingSettings(reread_every=timedelta(hours=1))


def polls_noted(world: LeaseholdTest, settings: WaitingSettings, notes: dict[int, int]) -> tuple[list[int], list[bool]]:
    """At which seconds of a stay it polls, where wakes note at some seconds what falls due at others; which it took."""
    world.queue.enqueue("reminder", run_in=timedelta(seconds=70))
    began_at, polled, taken = world.clock.now(), [], []
    poller = Poller(world.services, Arrivals(world), worker_id="tick")
    whole = poller.poll

    def poll(**options):
        polled.append(int((world.clock.now() - began_at).total_seconds()))
        return whole(**options)

    def wake() -> None:
        for second in [each for each in notes if world.clock.now() - began_at >= timedelta(seconds=each)]:
            at = began_at + timedelta(seconds=notes.pop(second))
            taken.append(world.services.store.pollers.note_due(at))

    poller.poll = poll  # type: ignore[method-assign]
    WaitingPoller(world.services, poller, worker_id="tick", settings=settings).stay(should_stop=wake)
    return polled, taken


def test_a_note_that_was_polled_for_does_not_keep_a_later_one_out(world):
    assert polls_noted(world, BESIDE_WAKES, {2: 10, 15: 30}) == ([10, 30, 70], [True, True])


def test_what_its_own_poll_has_put_off_is_polled_for_whatever_wakes_have_noted(world, monkeypatch):
    put_off = [world.clock.now() + timedelta(seconds=20)]
    whole = Poller.poll

    def poll(self, **options):
        report = whole(self, **options)
        if put_off:
            report.note_due(put_off.pop())
        return report

    monkeypatch.setattr(Poller, "poll", poll)
    assert polls_noted(world, BESIDE_WAKES, {2: 10, 12: 40}) == ([10, 20, 40, 70], [True, True])


def test_what_a_wake_has_noted_outlives_a_poll_that_had_to_end(world):
    """Whoever waits next was not there when it was noted."""
    pollers, began_at = world.services.store.pollers, world.clock.now()
    noted = began_at + timedelta(seconds=10)
    told: list[bool] = []
    ends: list[str] = []
    for _ in range(2):
        world.queue.enqueue("reminder", run_at=noted)

    class Replaced(Arrivals):
        def dispatch(self, handover: Handover, function: str | None) -> None:
            ends.append("time is up")
            pollers.acquire_waiter_lease("next", world.clock.now(), noted + timedelta(minutes=1), from_anyone=True)

    def should_stop() -> str | None:
        if not told and world.clock.now() - began_at >= timedelta(seconds=2):
            told.append(pollers.note_due(noted))
        return ends[0] if ends else None

    poller = Poller(world.services, Replaced(world), worker_id="tick")
    WaitingPoller(world.services, poller, worker_id="tick", settings=BESIDE_WAKES).stay(should_stop=should_stop)
    assert (told, ends) == ([True], ["time is up"])
    assert pollers.waiter_lease() == ("next", noted)
