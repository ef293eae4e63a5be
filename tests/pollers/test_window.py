"""What is handed over and not started is bounded, and a type whose jobs do not start keeps no other from it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.execute import Executor
from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import JobId
from leasehold.kernel.poll import Poller, PollReport
from leasehold.kernel.release import release
from leasehold.kernel.type_options import CLOCK_TOLERANCE
from leasehold.pollers.waiting import WaitingPoller, has_moved_on
from leasehold.pollers.window import Window
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.ports import Handover


class Lambda:
    """Takes every hand-over and starts none."""

    def __init__(self) -> None:
        self.taken: list[Handover] = []

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self.taken.append(handover)

    def of(self, job_type: str) -> int:
        return sum(each.job_type == job_type for each in self.taken)


@pytest.fixture
def world() -> LeaseholdTest:
    made = LeaseholdTest(types=[JobType(name="stuck"), JobType(name="other")])
    made.services.window = Window()
    return made


def polled(world: LeaseholdTest, platform: Lambda) -> None:
    Poller(world.services, platform, worker_id="tick").poll()


def enqueue(world: LeaseholdTest, job_type: str, count: int) -> None:
    for _ in range(count):
        world.queue.enqueue(job_type)


def test_what_has_not_started_is_bounded(world):
    platform = Lambda()
    enqueue(world, "stuck", 60)
    for _ in range(5):
        polled(world, platform)
    assert platform.of("stuck") == 16


def test_a_poll_that_has_room_for_all_looks_for_no_more(world):
    polled(world, Lambda())  # a new type is looked at once
    enqueue(world, "other", 10)
    report = Poller(world.services, Lambda(), worker_id="tick").poll()
    assert (report.dispatched, report.held_back, report.soonest_at) == (10, 0, None)


def test_a_type_that_fills_the_window_leaves_others_places_of_their_own(world):
    platform = Lambda()
    enqueue(world, "stuck", 60)
    polled(world, platform)
    enqueue(world, "other", 3)
    polled(world, platform)
    assert platform.of("other") == 3


def test_losses_of_one_type_shrink_no_other_s_window(world):
    platform = Lambda()
    enqueue(world, "stuck", 60)
    polled(world, platform)
    world.clock.advance(timedelta(hours=2))
    polled(world, platform)
    enqueue(world, "other", 12)
    polled(world, platform)
    assert platform.of("other") == 12


def test_what_lambda_can_no_longer_start_gives_its_places_back_though_nobody_has_reaped_it(world):
    platform = Lambda()
    # Leases end behind all that was due before, so a poll that is full does not come to them.
    enqueue(world, "stuck", 600)
    polled(world, platform)
    assert platform.of("stuck") == 16
    world.clock.advance(timedelta(seconds=60) + CLOCK_TOLERANCE)
    polled(world, platform)
    assert platform.of("stuck") > 16


def test_what_stands_behind_a_crowd_that_has_to_wait_is_reached_in_a_few_polls(world):
    platform = Lambda()
    enqueue(world, "stuck", 1200)
    world.clock.advance(timedelta(seconds=1))
    enqueue(world, "other", 1)
    for _ in range(4):
        polled(world, platform)
        world.clock.advance(timedelta(milliseconds=300))
    assert platform.of("other") == 1
    assert platform.of("stuck") <= 16


def test_while_hand_overs_start_in_time_one_poll_goes_on_with_what_there_was_no_room_for(world):
    class Starting(Lambda):
        """Starts each job as soon as it was handed over."""

        def dispatch(self, handover: Handover, function: str | None) -> None:
            super().dispatch(handover, function)
            Executor(world.services, worker_id="handler").execute(handover, lambda attempt: None)

    platform = Starting()
    enqueue(world, "other", 100)
    polled(world, platform)
    assert platform.of("other") == 100


def test_a_job_that_started_and_failed_is_no_lost_hand_over(world):
    class Failing(Lambda):
        """Starts each job as soon as it was handed over; its handler fails, and it will be tried again."""

        def dispatch(self, handover: Handover, function: str | None) -> None:
            super().dispatch(handover, function)
            Executor(world.services, worker_id="handler").execute(handover, fail)

    def fail(_: object) -> None:
        raise RuntimeError("not this time")

    enqueue(world, "other", 60)
    polled(world, Failing())
    platform = Lambda()
    enqueue(world, "other", 100)
    polled(world, platform)
    assert platform.of("other") > 16  # the window has grown


def test_a_waiting_poller_that_holds_jobs_back_looks_for_room_about_once_a_second(world):
    platform = Lambda()
    enqueue(world, "stuck", 60)
    poller = Poller(world.services, platform, worker_id="tick")
    polls = WaitingPoller(world.services, poller, worker_id="tick").stay()
    assert 60 < polls < 90


@pytest.mark.parametrize(("milliseconds", "next_ones"), [(200, 32), (201, 16)])
def test_the_window_grows_by_jobs_that_start_within_a_fifth_of_a_second(world, milliseconds, next_ones):
    first, second = Lambda(), Lambda()
    enqueue(world, "other", 16)
    polled(world, first)
    world.clock.advance(timedelta(milliseconds=milliseconds))
    for handover in first.taken:
        Executor(world.services, worker_id="handler").execute(handover, lambda attempt: None)
    enqueue(world, "other", 100)
    polled(world, second)
    assert second.of("other") == next_ones


def start(world: LeaseholdTest, handovers: Sequence[Handover]) -> None:
    for handover in handovers:
        Executor(world.services, worker_id="handler").execute(handover, lambda attempt: None)


def admitted_after(world: LeaseholdTest, count: int = 100) -> int:
    """How many of many jobs the next poll hands over."""
    platform = Lambda()
    enqueue(world, "other", count)
    polled(world, platform)
    return platform.of("other")


def test_the_window_grows_by_no_fewer_jobs_than_it_holds(world):
    platform = Lambda()
    enqueue(world, "other", 16)
    polled(world, platform)
    start(world, platform.taken[1:])
    assert admitted_after(world) == 15


def test_the_window_grows_to_a_thousand_and_a_few_and_no_further(world):
    platform = Lambda()
    enqueue(world, "other", 1)
    polled(world, platform)
    for number in range(2048):  # one that was deleted has started, too
        deleted = replace(platform.taken[0], job_id=JobId(f"{platform.taken[0].job_id[:-4]}{number:04}"))
        world.services.window.note_handed_over(deleted, world.clock.now())
    start(world, platform.taken)
    assert admitted_after(world, 1030) == 1024


def test_one_that_starts_late_lets_none_before_it_count_for_the_window(world):
    platform = Lambda()
    enqueue(world, "other", 16)
    polled(world, platform)
    world.clock.advance(timedelta(seconds=1))
    start(world, platform.taken[1:])
    world.clock.advance(timedelta(milliseconds=1))
    start(world, platform.taken[:1])
    enqueue(world, "stuck", 1)
    polled(world, platform)
    start(world, platform.taken[16:])  # the sixteenth in time of all types, which leaves room for more of them
    assert admitted_after(world) == 16


def test_a_window_that_was_halved_grows_by_no_fewer_jobs_than_it_holds(world):
    refused, platform = Lambda(), Lambda()
    enqueue(world, "other", 1)
    polled(world, refused)
    world.services.window.note_refused(refused.taken[0], throttled=True)
    enqueue(world, "other", 7)
    polled(world, platform)
    assert platform.of("other") == 7
    start(world, platform.taken)
    assert admitted_after(world) == 8


def test_a_hand_over_that_was_put_back_unstarted_is_a_lost_one(world):
    platform = Lambda()
    enqueue(world, "other", 1)
    polled(world, platform)
    assert release(platform.taken[0], "unstarted", world.services)
    assert admitted_after(world) == 8


def test_losses_of_two_types_one_after_the_other_halve_the_window_of_all(world):
    lost, platform = Lambda(), Lambda()
    for job_type in ("stuck", "other"):
        enqueue(world, job_type, 1)
    polled(world, lost)
    for handover in lost.taken:
        assert release(handover, "unstarted", world.services)
    enqueue(world, "other", 100)
    polled(world, platform)
    enqueue(world, "stuck", 100)
    polled(world, platform)
    assert (platform.of("other"), platform.of("stuck")) == (8, 4)


def test_a_hand_over_that_lambda_refused_halves_the_window(world):
    first, second = Lambda(), Lambda()
    enqueue(world, "other", 1)
    polled(world, first)
    world.services.window.note_refused(first.taken[0], throttled=True)
    enqueue(world, "other", 100)
    polled(world, second)
    assert second.of("other") == 8


def test_a_hand_over_that_lambda_refused_halves_the_window_of_its_type_too(world):
    refused, started, last = Lambda(), Lambda(), Lambda()
    enqueue(world, "other", 1)
    polled(world, refused)
    world.services.window.note_refused(refused.taken[0], throttled=True)
    enqueue(world, "stuck", 8)
    polled(world, started)
    for handover in started.taken:  # then there is room for 16 again, but not of the other type
        Executor(world.services, worker_id="handler").execute(handover, lambda attempt: None)
    enqueue(world, "other", 100)
    polled(world, last)
    assert last.of("other") == 8


@pytest.mark.parametrize(
    "counted", ["claimed", "triggered", "settled", "reaped", "expired", "turned_away", "held", "looked"]
)
def test_a_poll_has_moved_on_if_anything_that_was_due_is_so_no_more(counted):
    report = PollReport()
    setattr(report, counted, 1)
    assert has_moved_on(report)
    assert not has_moved_on(PollReport(scanned=1, dispatched=1, released=1, lost_races=1, failed=1, held_back=1))
