"""What a template adds to the cost of a job, measured; docs/data-model.md states these figures."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Fixed, JobType, NewJob, Queue
from leasehold.schedules.trigger import trigger
from tests.meter import Meter, item_size
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.dynoxide
HOUR = timedelta(hours=1)
HOOK = "https://example.com/hooks/jobs"


@pytest.fixture
def deployed(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> RealQueue:
    made = RealQueue(make_client(dynoxide_endpoint), [JobType(name="report")])
    made.queue.templates.create(
        "nightly", "report", {"style": "short"}, priority=0, max_attempts=3, retry=Fixed(HOUR), webhook=HOOK
    )
    return made


def test_a_job_from_a_template_costs_one_read_in_five_seconds_and_no_write_unit_more(deployed: RealQueue) -> None:
    meter, queue = Meter(deployed.client), Queue(deployed.process())
    queue.enqueue("report")  # reads what is deployed

    plain = meter.during(lambda: queue.enqueue("report", {"style": "short", "user": "ada"}))
    first = meter.during(lambda: queue.enqueue(template="nightly", payload={"user": "ada"}))
    second = meter.during(lambda: queue.enqueue(template="nightly", payload={"user": "ada"}))
    many = meter.during(lambda: queue.enqueue_many([NewJob(template="nightly", payload={"user": "ada"})] * 25))

    assert (plain.read_units, plain.write_units) == (0, 2)
    assert (first.read_units, first.total_requests, first.write_units) == (1, 2, 2)
    assert (second.read_units, second.total_requests, second.write_units) == (0, 1, 2)
    assert (many.read_units, many.total_requests, many.write_units) == (0, 1, 50)


def test_its_copy_of_the_options_adds_some_bytes_to_the_job(deployed: RealQueue) -> None:
    plain = deployed.queue.enqueue("report", {"style": "short"}, priority=0, max_attempts=3)
    templated = deployed.queue.enqueue(template="nightly")

    sizes = [item_size(deployed.item(each.job_id)) for each in (plain, templated)]

    assert sizes[1] - sizes[0] == len("template" + "nightly" + "retry" + '{"fixed":3600.0}' + "webhook" + HOOK)


def test_a_slot_of_a_template_costs_one_read_more_and_no_write_unit_more(deployed: RealQueue) -> None:
    meter = Meter(deployed.client)
    options = {"every": HOUR, "overlap": "allow"}
    deployed.queue.schedules.create("plain", "report", {"style": "short"}, **options)  # type: ignore[arg-type]
    deployed.queue.schedules.create("templated", template="nightly", **options)  # type: ignore[arg-type]
    for name in ("plain", "templated"):
        trigger(name, deployed.services)
    deployed.clock.advance(HOUR)
    deployed.services.deployment.registry()
    deployed.services.deployment.switches()

    plain = meter.during(lambda: trigger("plain", deployed.services))
    templated = meter.during(lambda: trigger("templated", deployed.services))

    assert templated.read_units - plain.read_units == 1
    assert (plain.write_units, templated.write_units) == (10, 10)


def test_a_change_of_a_template_costs_its_item_and_its_record(deployed: RealQueue) -> None:
    meter, templates = Meter(deployed.client), deployed.queue.templates

    created = meter.during(lambda: templates.create("other", "report"))
    updated = meter.during(lambda: templates.update("other", priority=3))
    same = meter.during(lambda: templates.update("other", priority=3))
    deleted = meter.during(lambda: templates.delete("other"))

    assert [(each.writes, each.write_units) for each in (created, updated, same, deleted)] == [
        (2, 6),
        # Each but the first tries to insert the record before it, which was there: no engine bills that here.
        (3, 6),
        (0, 0),
        (3, 6),
    ]
