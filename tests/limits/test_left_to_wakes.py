"""A scope that somebody has just made due is left to whoever is on the way because of that, and for no longer."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leasehold.kernel.lanes import service_lane
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.other_entries import DueScope
from leasehold.limits.admission import Admission
from leasehold.limits.lanes import is_left_to_wakes
from tests.contract.world import World

A_SECOND = timedelta(seconds=1)
A_MILLISECOND = timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("due_in", "seen_after", "is_left"),
    [
        pytest.param(0 * A_SECOND, 0 * A_SECOND, True, id="just made due"),
        pytest.param(0 * A_SECOND, 2 * A_SECOND - A_MILLISECOND, True, id="a while ago"),
        pytest.param(0 * A_SECOND, 2 * A_SECOND, False, id="too long ago"),
        pytest.param(A_SECOND - A_MILLISECOND, 0 * A_SECOND, True, id="made due, nearly at once"),
        pytest.param(A_SECOND, 0 * A_SECOND, False, id="time has made it due"),
    ],
)
def test_a_scope_is_left_to_a_wake_for_a_while(due_in: timedelta, seen_after: timedelta, is_left: bool) -> None:
    world = World(MemoryTable())
    lines = world.services.store.lines
    assert lines.expect(lines.scope("type:a"), world.clock.now() + due_in, Admission(world.services, None).moment())
    world.clock.advance(due_in + seen_after)
    now = world.clock.now()
    entries = world.services.store.jobs.due(service_lane("type:a", 1), now, limit=10).entries
    (entry,) = [each for each in entries if isinstance(each, DueScope) and each.scope == "type:a"]

    assert is_left_to_wakes(entry, now, 2 * A_SECOND) is is_left
