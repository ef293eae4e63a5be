"""A poll that has sent its probe tries no second one, whatever lanes wait there still."""

from __future__ import annotations

from leasehold.kernel.table import Update
from tests.contract.circuits import enqueue, open_circuit, wait_for_probe
from tests.contract.world import World
from tests.worlds import SpyTable


def test_a_probe_is_sent_for_one_of_several_lanes_and_no_other_is_tried() -> None:
    table = SpyTable()
    world = World(table)
    open_circuit(world)
    enqueue(world, 2)
    world.queue.enqueue("report", priority="high")
    world.poll()
    wait_for_probe(world)
    table.writes.clear()

    assert len(world.claim()) == 1

    written = [each for change in table.writes for each in (change if isinstance(change, list) else [change])]
    assert len([each for each in written if isinstance(each, Update) and "locked_by" in each.sets]) == 1
