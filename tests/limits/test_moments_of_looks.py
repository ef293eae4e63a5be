"""What one poll remembers of the scopes that it looks at, for how long, and when it looks at them again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from leasehold.kernel.keys import Due, Priority, position_at
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.poll import Poll
from leasehold.limits.admission import Admission, together
from leasehold.limits.looks import Looks
from leasehold.limits.scopes import Lane, Scope, Turn
from leasehold.limits.turns import Visit
from tests.contract.world import World

A_SECOND = timedelta(seconds=1)
A_MILLISECOND = timedelta(milliseconds=1)
LANE = Lane(priority=Priority.NORMAL, queue="limited")


def looks_of(world: World) -> Looks:
    return Looks(Poll(world.poller, None), Admission(world.services, None))


@pytest.mark.parametrize(
    ("seen_after", "is_known"),
    [
        pytest.param(0 * A_SECOND, True, id="at once"),
        pytest.param(30 * A_SECOND - A_MILLISECOND, True, id="while an index may lag"),
        pytest.param(30 * A_SECOND, False, id="once every index has caught up"),
        pytest.param(-A_MILLISECOND, False, id="by a clock that was put back"),
    ],
)
def test_what_left_its_lane_is_known_while_an_index_may_show_it(seen_after: timedelta, is_known: bool) -> None:
    world = World(MemoryTable())
    looks = looks_of(world)
    looks.gone = {"a due key": world.clock.now() - seen_after}

    looks.forget_old()

    assert list(looks.gone) == (["a due key"] if is_known else [])


@pytest.mark.parametrize(
    ("read_after", "behind"), [(0 * A_SECOND, "b"), (2 * A_SECOND - A_MILLISECOND, "b"), (2 * A_SECOND, None)]
)
def test_a_lane_is_read_behind_the_last_job_that_it_was_given_a_seat_for_if_that_was_just_now(
    read_after: timedelta, behind: str | None
) -> None:
    world = World(MemoryTable())
    now = world.clock.now()
    turns = tuple(Turn(LANE, now - read_after, due_key) for due_key in ("a", "b"))
    scope = replace(Scope(name="type:limited", exists=True, due_key=""), turns=turns)

    visit = Visit(looks_of(world), scope, now, now)

    assert visit._just_taken(LANE) == behind
    assert visit._just_taken(replace(LANE, queue="other")) is None


@pytest.mark.parametrize(
    ("waited", "share", "seconds"), [(0, 0.0, 60), (120, 0.0, 240), (120, 0.8, 216), (900, 0.0, 600), (900, 0.28, 579)]
)
def test_a_look_in_vain_doubles_the_wait_for_the_next_which_is_between_one_and_ten_minutes_or_an_eighth_less(
    monkeypatch: pytest.MonkeyPatch, waited: int, share: float, seconds: int
) -> None:
    world = World(MemoryTable())
    monkeypatch.setattr(world.services.random_source, "share", lambda: share)
    now = world.clock.now()
    due = Due(now, position_at(now - waited * A_SECOND), "type:limited")

    assert looks_of(world)._next_at(due.key, now) == together(now + seconds * A_SECOND)
