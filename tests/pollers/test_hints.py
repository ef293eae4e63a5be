"""What a stream has shown is claimed before any index shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.job_type import JobType
from leasehold.kernel.jobs import DueJob
from leasehold.kernel.keys import Priority, run_lane
from leasehold.kernel.poll import Poller
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from leasehold.kernel.ports import Handover


class Noting:
    def __init__(self) -> None:
        self.taken: list[str] = []

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self.taken.append(handover.job_id)


@pytest.mark.parametrize("count", [3, 30], ids=["a few", "a backlog"])
def test_all_that_a_stream_has_shown_is_claimed_in_a_poll_that_reads_no_lane(count: int) -> None:
    world = LeaseholdTest(types=[JobType(name="plain")])
    made = [world.queue.enqueue("plain").job_id for _ in range(count)]
    shown = world.services.store.jobs.due(run_lane(Priority.NORMAL, 0), world.clock.now(), limit=100).entries
    platform = Noting()

    report = Poller(world.services, platform, worker_id="wake").poll(
        hints=[each for each in shown if isinstance(each, DueJob)], lanes=[]
    )

    assert (report.scanned, report.claimed) == (0, count)
    assert sorted(platform.taken) == sorted(made)
