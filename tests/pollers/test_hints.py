"""What a stream has shown is claimed before any index shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.batches.model import Batch
from leasehold.kernel.job_type import JobType
from leasehold.kernel.jobs import DueJob
from leasehold.kernel.keys import Priority, run_lane
from leasehold.kernel.poll import Poller
from leasehold.kernel.registry import Registry
from leasehold.operate.operator import Operator
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def test_what_a_stream_has_shown_of_a_batch_type_is_handed_over_before_a_lane_is_read(monkeypatch) -> None:
    world = LeaseholdTest(types=[JobType(name="batched", batch=Batch(size=10))])
    for _ in range(3):
        world.queue.enqueue("batched")
    jobs, now = world.services.store.jobs, world.clock.now()
    shown = jobs.due(run_lane(Priority.NORMAL, 0), now, limit=100).entries
    order: list[int | str] = []

    class Platform(Noting):
        def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
            order.append(len(handovers))

    whole = jobs.due

    def read(lane: str, *given: Any, **options: Any) -> Any:
        order.append("a lane")
        return whole(lane, *given, **options)

    monkeypatch.setattr(jobs, "due", read)
    Poller(world.services, Platform(), worker_id="wake").poll(hints=[e for e in shown if isinstance(e, DueJob)])

    assert order[:2] == [3, "a lane"]


def test_a_job_of_a_backlog_that_another_was_quicker_with_keeps_no_other_that_a_stream_has_shown_from_its_claim() -> (
    None
):
    world = LeaseholdTest(types=[JobType(name="plain")])
    for _ in range(30):
        world.queue.enqueue("plain")
    shown = world.services.store.jobs.due(run_lane(Priority.NORMAL, 0), world.clock.now(), limit=100).entries
    hints = [each for each in shown if isinstance(each, DueJob)]
    for lost in hints[1], hints[2]:
        world.queue.cancel(lost.job_id, reason="another was quicker with it")

    report = Poller(world.services, Noting(), worker_id="wake").poll(hints=hints, lanes=[])

    assert (report.claimed, report.lost_races) == (28, 2)


def test_backlogs_of_two_shards_that_a_stream_has_shown_are_both_claimed() -> None:
    world = LeaseholdTest(types=[JobType(name="plain")])
    Operator(world.services).publish(Registry(types={"plain": JobType(name="plain")}, shards=2))
    for _ in range(40):
        world.queue.enqueue("plain")
    jobs, now = world.services.store.jobs, world.clock.now()
    shown = [jobs.due(run_lane(Priority.NORMAL, shard), now, limit=100).entries for shard in range(2)]
    assert all(len(each) >= 8 for each in shown)

    report = Poller(world.services, Noting(), worker_id="wake").poll(
        hints=[each for entries in shown for each in entries if isinstance(each, DueJob)], lanes=[]
    )

    assert report.claimed == 40
