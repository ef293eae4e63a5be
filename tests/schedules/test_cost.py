"""What a schedule adds to the write units of a job, measured; docs/data-model.md states these figures."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobType
from leasehold.schedules.trigger import trigger
from tests.meter import Meter
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.dynoxide
HOUR = timedelta(hours=1)


@pytest.fixture
def deployed(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> RealQueue:
    return RealQueue(make_client(dynoxide_endpoint), [JobType(name="report")])


def test_a_scheduled_job_costs_ten_units_to_make_where_a_plain_one_costs_two(deployed: RealQueue) -> None:
    meter = Meter(deployed.client)
    deployed.queue.schedules.create("hourly", "report", {"user": "ada"}, every=HOUR, overlap="allow")
    trigger("hourly", deployed.services)
    deployed.clock.advance(HOUR)

    plain = meter.during(lambda: deployed.queue.enqueue("report", {"user": "ada"}))
    scheduled = meter.during(lambda: trigger("hourly", deployed.services))
    again = meter.during(lambda: trigger("hourly", deployed.services))

    assert (plain.writes, plain.write_units) == (1, 2)
    assert (scheduled.writes, scheduled.write_units) == (1, 10)
    assert (again.writes, again.write_units) == (0, 0)


def test_leaving_a_slot_to_a_poll_costs_one_unit(deployed: RealQueue) -> None:
    meter = Meter(deployed.client)
    deployed.queue.schedules.create("hourly", "report", every=HOUR)
    for _ in range(2):
        trigger("hourly", deployed.services)
        deployed.clock.advance(HOUR)

    left = meter.during(lambda: trigger("hourly", deployed.services, reads_jobs=False))

    assert (left.writes, left.write_units) == (1, 1)


def test_a_change_of_a_schedule_costs_its_item_and_its_record(deployed: RealQueue) -> None:
    meter = Meter(deployed.client)

    created = meter.during(lambda: deployed.queue.schedules.create("hourly", "report", every=HOUR))
    told = meter.during(lambda: trigger("hourly", deployed.services))

    assert (created.writes, created.write_units) == (2, 8)
    assert (told.writes, told.write_units) == (1, 3)
