"""While some lane takes long, what falls due in the others does not wait for its end: they are read anew."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leasehold.kernel.lanes import Lane
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.poll import Poll
from tests.contract.world import World


@pytest.mark.parametrize(("milliseconds", "is_anew"), [(499, False), (500, True)])
def test_a_lane_that_was_read_to_its_end_is_read_anew_after_a_while_as_if_for_the_first_time(milliseconds, is_anew):
    world = World(MemoryTable())
    lane = Lane("1#0", 0, cursor={"PK": "a"}, is_exhausted=True, read_at=world.clock.now(), in_vain=20)
    world.clock.advance(timedelta(milliseconds=milliseconds))

    Poll(world.poller, None)._reopen([lane])

    read = (lane.cursor, lane.is_exhausted, lane.in_vain)
    assert read == ((None, False, 0) if is_anew else ({"PK": "a"}, True, 20))
