"""What a direct run costs, and what it adds to the jobs that wait for it; docs/data-model.md states these figures."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobType, Queue
from leasehold.direct_runs.model import DirectAnswer
from leasehold.kernel.poll import Poller
from tests.meter import Meter
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.direct_runs.model import DirectRun
    from tests.meter import Reading

pytestmark = pytest.mark.dynoxide

SEATS = 5
TYPES = (JobType(name="plain"), JobType(name="limited", concurrency=SEATS))


class Answering:
    """A Lambda that answers, after something else has happened."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self._meanwhile = meanwhile

    def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
        self._meanwhile()
        return DirectAnswer()


@pytest.fixture
def deployed(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> RealQueue:
    return RealQueue(make_client(dynoxide_endpoint), TYPES)


def cost(deployed: RealQueue, job_type: str, meanwhile: Callable[[], object] = lambda: None) -> Reading:
    services = deployed.process()
    services.caller = Answering(meanwhile)
    # A timeout that a type without a limit needs, too.
    reading = Meter(deployed.client).during(lambda: Queue(services).run_now(job_type, timeout=timedelta(seconds=7)))
    print(f"\n{dict(reading.requests)}: {reading.write_units:g} write units, {reading.read_units:g} read units")
    assert not reading.refusals
    return reading


def test_a_direct_run_costs_two_write_units_and_two_more_for_each_seat(deployed: RealQueue) -> None:
    plain, limited = cost(deployed, "plain"), cost(deployed, "limited")

    assert (plain.writes, plain.write_units) == (2, 2)
    assert (limited.writes, limited.write_units) == (2 + 2 * SEATS, 2 + 2 * SEATS)
    assert (plain.read_units, limited.read_units) == (7, 7)


@pytest.mark.parametrize("job_type", ["plain", "limited"])
def test_jobs_that_wait_for_it_are_woken_for_some_units_more(deployed: RealQueue, job_type: str) -> None:
    deployed.queue.enqueue(job_type)
    poller, meter = Poller(deployed.process(), Inbox(), worker_id="poller"), Meter(deployed.client)
    held: list[Reading] = []
    alone = cost(deployed, job_type)
    deployed.queue.enqueue(job_type)

    awaited = cost(deployed, job_type, lambda: held.append(meter.during(poller.poll)))

    # Both jobs are moved, their lane stands in line, and the scope is made to be looked at; the poll would otherwise
    # have claimed them.
    assert held[0].write_units == 2 * 3 + 1 + 2
    assert awaited.write_units - held[0].write_units - alone.write_units == 7


def test_pollers_that_read_a_reservation_read_no_more_units(deployed: RealQueue) -> None:
    meter, control = Meter(deployed.client), deployed.services.store.control
    before = meter.during(control.switches)
    readings: list[Reading] = []

    cost(deployed, "limited", lambda: readings.append(meter.during(control.switches)))

    assert readings[0].read_units == before.read_units
