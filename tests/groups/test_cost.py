"""What a group adds to the write units of a job, measured; docs/cost.md states these figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobType, NewJob, NonRetryableError, Worker
from leasehold.groups.stop import tend
from leasehold.kernel.other_entries import DueItem
from leasehold.kernel.poll import Poller
from tests.docs.markdown import text_of
from tests.handlers import handler_that
from tests.meter import Meter
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.dynoxide
PAGE = text_of("docs/cost.md")
PROSE = " ".join(PAGE.split())


class Priced:
    """A group on a queue of its own, each step of its life metered."""

    def __init__(self, client: DynamoDBClient) -> None:
        self.deployed = RealQueue(client, [JobType(name="step"), JobType(name="tell")])
        self.inbox = Inbox()
        self._meter = Meter(client)
        self._poller = Poller(self.deployed.process(), self.inbox, worker_id="poller-4f1c9a27")

    def create(self, count: int, **options: Any) -> float:
        jobs = [NewJob(job="step", payload={"order_id": f"o-{n:06d}"}) for n in range(count)]
        return self._units(lambda: self.deployed.queue.groups.create(jobs, group_id="import", **options))

    def poll(self) -> float:
        return self._units(self._poller.poll)

    def handle(self, work: Callable[[Any], object] = lambda _context: None) -> float:
        handovers, self.inbox.handovers = self.inbox.handovers, []
        worker = Worker(
            self.deployed.process(),
            dict.fromkeys(("step", "tell"), handler_that(work)),
            worker_id="handler-9d02b6e1",
            limit_time=False,
        )
        return self._units(lambda: [worker.run(handover) for handover in handovers])

    def cancel(self) -> float:
        return self._units(lambda: self.deployed.queue.groups.cancel("import", reason="wrong file"))

    def tend(self) -> float:
        """What a poll does for a group that stops, without what it does for others."""
        group = self.deployed.queue.groups.get("import")
        assert group.due_key is not None
        entry = DueItem(kind="group", name="import", due_key=group.due_key)
        return self._units(lambda: tend(entry, self.deployed.services, worker_id="poller", may_go_on=lambda: True))

    def to_the_end(self) -> float:
        """What all is worth from the first poll on."""
        units = self.poll()
        while self.inbox.handovers:
            units += self.handle() + self.poll()
        return units

    def _units(self, work: Callable[[], object]) -> float:
        reading = self._meter.during(work)
        assert not reading.refusals
        return reading.write_units


@pytest.fixture
def priced(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> Callable[[], Priced]:
    return lambda: Priced(make_client(dynoxide_endpoint))


@pytest.mark.parametrize(
    ("mode", "making", "running"),
    [
        # Let in 4, claimed 3, started 1, completed 4, counted 6.
        ("sequential", 2, 18),
        # Claimed straight from the group's lane.
        ("parallel", 4, 14),
    ],
)
def test_a_member_s_life_costs_what_it_is_known_to_cost(
    mode: str, making: int, running: int, priced: Callable[[], Priced]
) -> None:
    small, large = priced(), priced()

    # So few that they are claimed one by one: from eight on, a poll takes the watch, for 2 units once.
    made = large.create(7, mode=mode) - small.create(2, mode=mode)
    ran = large.to_the_end() - small.to_the_end()

    assert (made / 5, ran / 5) == (making, running)
    total = making + running
    assert f"\n| a member of a {mode} group | {total} | {total - 9} |\n" in PAGE


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_a_group_itself_costs_little(mode: str, priced: Callable[[], Priced]) -> None:
    plain, calling = priced(), priced()
    member = {"sequential": 20, "parallel": 18}[mode]

    alone = plain.create(1, mode=mode) + plain.to_the_end()
    with_callback = calling.create(1, mode=mode, callback=NewJob(job="tell")) + calling.to_the_end()

    print(f"\n{mode}: {alone - member} for the group, {with_callback - alone} for the callback")
    stated = {"sequential": "a sequential group itself", "parallel": "a parallel group itself"}[mode]
    assert f"{stated} {alone - member:g}" in PROSE
    assert f"its callback {with_callback - alone:g}" in PROSE


@pytest.mark.parametrize(("mode", "each"), [("sequential", 4), ("parallel", 6)])
def test_a_member_that_never_runs_costs_one_transaction(mode: str, each: int, priced: Callable[[], Priced]) -> None:
    def stop(group: Priced, count: int) -> float:
        group.create(count, mode=mode)
        assert f"A cancel costs {group.cancel():g}." in PROSE
        return group.tend()

    small, large = priced(), priced()

    assert (stop(large, 12) - stop(small, 2)) / 10 == each
    assert f"{each} in a {mode} one" in PROSE


def test_a_failure_that_stops_the_group_costs_the_same_as_one_that_does_not(priced: Callable[[], Priced]) -> None:
    def fail(_context: object) -> None:
        raise NonRetryableError("broken")

    group = priced()
    group.create(2)
    group.poll()
    group.handle(fail)

    # The count with the stop, one member ended, and the group's end.
    assert group.poll() <= 20
