"""What it costs to change the order of jobs: measured, and every change of these figures is meant."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobType, Priority
from leasehold.kernel.poll import Poller
from tests.docs.markdown import text_of
from tests.meter import Meter
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.keys import JobId

pytestmark = pytest.mark.dynoxide


@pytest.fixture
def deployed(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> RealQueue:
    return RealQueue(make_client(dynoxide_endpoint), [JobType(name="send_order_receipt")])


def enqueue(deployed: RealQueue, count: int) -> list[JobId]:
    at = deployed.clock.now() + timedelta(hours=1)
    made = []
    for number in range(count):
        made.append(deployed.queue.enqueue("send_order_receipt", {"order": number}, run_at=at).job_id)
        deployed.clock.advance(timedelta(milliseconds=1))
    return made


def cost(deployed: RealQueue, change: Callable[[], object]) -> tuple[int, float, float]:
    """Writes, write units and read units."""
    reading = Meter(deployed.client).during(change)
    print(f"\n{dict(reading.requests)}: {reading.write_units:g} write units, {reading.read_units:g} read units")
    assert not reading.refusals
    return reading.writes, reading.write_units, reading.read_units


def test_a_move_costs_ten_units_in_two_calls_and_four_and_a_half_read_units(deployed: RealQueue) -> None:
    first, *_, last = enqueue(deployed, 4)
    deployed.queue.reprioritise(first, Priority.HIGH)

    assert cost(deployed, lambda: deployed.queue.move(last, before=first)) == (2, 10, 4.5)


def test_what_a_move_costs_does_not_depend_on_how_many_wait_in_the_lane(deployed: RealQueue) -> None:
    made = enqueue(deployed, 200)

    assert cost(deployed, lambda: deployed.queue.move(made[-1], after=made[100])) == (2, 10, 4.5)


def test_a_held_job_is_moved_at_the_same_price(deployed: RealQueue) -> None:
    first, *_, last = enqueue(deployed, 4)
    deployed.operator.pause("send_order_receipt", reason="the printer is on fire")
    deployed.clock.advance(timedelta(hours=1))
    assert Poller(deployed.process(), Inbox(), worker_id="poller").poll().held == 4

    # With a reason: without, it is looked up whether the deployment asks for one, once a minute.
    assert cost(deployed, lambda: deployed.queue.move(last, before=first, reason="in a hurry")) == (2, 10, 4.5)


def test_reprioritising_and_running_now_cost_ten_units_in_two_calls(deployed: RealQueue) -> None:
    first, last = enqueue(deployed, 2)

    assert cost(deployed, lambda: deployed.queue.reprioritise(first, Priority.CRITICAL)) == (2, 10, 4)
    assert cost(deployed, lambda: deployed.queue.reschedule(last)) == (2, 10, 3)


def test_a_job_in_a_persons_name_costs_eight_units_more_unless_its_type_leaves_the_record_out(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    types = [JobType(name="order"), JobType(name="chatty", audit_creation=False)]
    deployed = RealQueue(make_client(dynoxide_endpoint), types)
    deployed.queue.enqueue("order")

    plain = cost(deployed, lambda: deployed.queue.enqueue("order", {"n": 1}))
    personal = cost(deployed, lambda: deployed.queue.enqueue("order", {"n": 1}, created_by="ada"))
    silent = cost(deployed, lambda: deployed.queue.enqueue("chatty", {"n": 1}, created_by="ada"))

    assert (plain[0], personal[0], silent[0]) == (1, 1, 1)
    assert personal[1] - plain[1] == 8
    assert silent[1] == plain[1]
    assert "8 write units more" in text_of("docs/cost.md")
