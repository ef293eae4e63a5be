"""What requests to the HTTP API cost beside what they do; docs/cost.md states these figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold import JobType
from leasehold.direct_runs.model import DirectAnswer
from leasehold.direct_runs.run import perform
from tests.api.world import Api
from tests.meter import Meter
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.direct_runs.model import DirectRun

pytestmark = pytest.mark.dynoxide

JOB = {"job_type": "plain", "reason": "a test"}
RUN = {"job_type": "limited", "timeout": 60, "reason": "a test"}


class Answering:
    def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
        return DirectAnswer(result_text="{}")


@pytest.fixture
def deployed(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> RealQueue:
    return RealQueue(make_client(dynoxide_endpoint), (JobType(name="plain"), JobType(name="limited", concurrency=1)))


def units(deployed: RealQueue, act: Callable[[], object]) -> float:
    reading = Meter(deployed.client).during(act)
    print(f"\n{dict(reading.requests)}: {reading.write_units:g} write units, {reading.read_units:g} read units")
    return reading.write_units


def test_a_key_costs_two_write_units_and_its_repeat_none(deployed: RealQueue) -> None:
    api = Api(deployed.process())

    plain = units(deployed, lambda: api.send("POST /api/jobs", JOB))
    keyed = units(deployed, lambda: api.send("POST /api/jobs", JOB, key="k"))
    again = units(deployed, lambda: api.send("POST /api/jobs", JOB, key="k"))

    assert (plain, keyed - plain, again) == (10, 2, 0)


def test_a_direct_run_that_is_asked_for_costs_eight_write_units_more_than_one_that_is_waited_for(
    deployed: RealQueue,
) -> None:
    """Accepted with its record in a transaction, taken, and ended; the run itself costs 4 with one seat."""
    services = deployed.process()
    services.caller = Answering()
    api = Api(services)
    api.starter.at_once = False

    accepted = units(deployed, lambda: api.send("POST /api/direct-runs", RUN))
    done = units(deployed, lambda: perform(api.starter.run_ids[0], services, worker_id="runner"))

    assert (accepted, done - 4) == (6, 2)
