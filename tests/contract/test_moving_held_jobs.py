"""Jobs that may not run now are moved too: they run in their new order once they may."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Priority
from leasehold.kernel.poll import Poller, PollSettings
from tests.contract.line import Line

if TYPE_CHECKING:
    from tests.contract.world import World


@pytest.fixture
def line(world: World) -> Line:
    return Line(world)


@pytest.mark.parametrize("seen_by_a_poll", [True, False])
def test_held_jobs_are_moved_within_their_hold_lane_and_run_in_their_new_order(
    line: Line, seen_by_a_poll: bool
) -> None:
    line.enqueue("abcd", "email")
    line.world.operator.pause("email", reason="provider is down")
    line.world.poll()

    line.move("d", before="b")
    line.move("a", after="c")

    assert all(line.job(name).is_held and not line.job(name).wake for name in "abcd")
    if seen_by_a_poll:
        assert line.world.poll().held == 0
    line.world.operator.unpause("email")
    assert line.claimed() == "dbca"


def test_a_held_job_that_is_moved_next_to_one_of_a_higher_priority_runs_with_it(line: Line) -> None:
    world = line.world
    # Lower priorities get a share of the times that held jobs are admitted; not here.
    world.poller = Poller(world.services, world.dispatches, worker_id="poller", settings=PollSettings(lower_share=0))
    line.enqueue("ab", "email")
    line.enqueue("c", "email", priority=Priority.HIGH)
    line.world.operator.pause("email", reason="provider is down")
    line.world.poll()

    line.move("b", after="c")
    line.world.poll()

    line.world.operator.unpause("email")
    assert line.claimed() == "cba"


def test_a_job_that_is_moved_next_to_a_held_one_is_held_there_by_the_next_poll(line: Line) -> None:
    line.enqueue("ab", "email")
    line.world.operator.pause("email", reason="provider is down")
    line.world.poll()
    line.enqueue("x", "email", run_in=timedelta(hours=1))

    moved = line.move("x", before="b")

    assert not moved.is_held
    assert line.world.poll().held == 1
    assert line.job("x").is_held
    line.world.operator.unpause("email")
    assert line.claimed() == "axb"


def test_a_job_that_is_moved_to_the_head_of_a_full_type_gets_the_next_seat(line: Line) -> None:
    line.enqueue("abcd", "limited")
    running = line.world.claim()
    line.enqueue("x", "limited", run_in=timedelta(hours=1))

    line.move("d", before="c")
    line.move("x", before="d")
    line.world.poll()

    for handover in running:
        line.world.worker.run(handover)
    assert line.claimed() == "xd"


def test_a_job_of_another_type_does_not_wait_with_the_held_one_that_it_is_moved_next_to(line: Line) -> None:
    line.enqueue("a", "email")
    line.world.operator.pause("email", reason="provider is down")
    line.world.poll()
    line.enqueue("x", run_in=timedelta(hours=1))

    line.move("x", before="a")

    assert line.claimed() == "x"


def test_a_held_job_that_is_moved_next_to_one_that_is_not_waits_on(line: Line) -> None:
    line.enqueue("ax", "email")
    line.world.operator.pause("email", reason="provider is down")
    line.world.poll()
    line.enqueue("b")

    line.move("x", before="b")

    assert line.claimed() == "b"
    assert line.job("x").is_held
    line.world.operator.unpause("email")
    assert line.claimed() == "ax"
