"""When a scope that is full is looked at first, if nobody says that a seat was freed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leasehold.kernel.keys import Priority
from leasehold.kernel.memory import MemoryTable
from leasehold.limits.admission import LAST_LOOK_AFTER, Admission
from leasehold.limits.scopes import Lane
from tests.contract.world import World


@pytest.mark.parametrize(
    ("free_in", "earliest", "latest"),
    [
        (None, 60, 60),
        (-5, 0, 0),
        (20, 20, 20),
        (300, 60, 60),
        (600, 60, 60),
        (3_000, 130, 320),
        (100_000, 280, 620),
    ],
)
def test_the_longer_a_seat_may_be_held_the_later_it_is_looked_at(
    free_in: int | None, earliest: int, latest: int
) -> None:
    world = World(MemoryTable())
    now = world.clock.now()
    free_at = None if free_in is None else now + timedelta(seconds=free_in)

    looks = [Admission(world.services, None)._first_look(now, free_at) - now for _ in range(20)]

    assert timedelta(seconds=earliest) <= min(looks)
    assert max(looks) <= timedelta(seconds=latest)


@pytest.mark.parametrize(("beyond", "is_left"), [(0, True), (1, False)])
def test_a_look_that_comes_in_time_is_left_as_it_is(beyond: int, is_left: bool) -> None:
    world = World(MemoryTable())
    admission, lines, now = Admission(world.services, None), world.services.store.lines, world.clock.now()
    at = now + LAST_LOOK_AFTER + timedelta(milliseconds=beyond)
    assert lines.expect(lines.scope("type:a"), at, admission.moment())
    before = lines.scope("type:a").due_key

    assert admission.expect_look("type:a")

    after = lines.scope("type:a").due_key
    assert (after == before) is is_left


def test_a_lane_stands_in_no_line_whose_scope_changes_at_every_try(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(MemoryTable())
    admission, lane = Admission(world.services, None), Lane(priority=Priority.NORMAL, queue="a")
    tries = []

    def changed(*_: object) -> bool:
        tries.append(1)
        return False

    monkeypatch.setattr(world.services.store.lines, "expect", changed)
    assert not admission.stand_in_line("type:a", lane, None)
    assert len(tries) > 1
    assert world.services.store.lines.entry("type:a", lane) is None

    monkeypatch.undo()
    assert admission.stand_in_line("type:a", lane, None)
    assert world.services.store.lines.entry("type:a", lane) is not None
