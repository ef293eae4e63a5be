"""What a circuit breaker costs: its type alone, and nobody else."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import CircuitBreaker, JobType
from leasehold.kernel.end import Failure
from leasehold.kernel.execute import Attempt, Executor
from leasehold.kernel.poll import Poller
from leasehold.runtime.signals import fail
from tests.meter import Meter
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.dynoxide

PLAIN = JobType(name="report")
GUARDED = JobType(name="report", breaker=CircuitBreaker(min_runs=3))
MINUTE = timedelta(minutes=1)


class Deployed:
    def __init__(self, client: DynamoDBClient, job_type: JobType) -> None:
        self.queue = RealQueue(client, [job_type])
        self.meter = Meter(client)
        self.inbox = Inbox()
        self.poller = Poller(self.queue.process(), self.inbox, worker_id="poller-4f1c9a27")
        self.executor = Executor(self.queue.process(), worker_id="handler-9d02b6e1")

    def units(self, work: Callable[[], object]) -> float:
        reading = self.meter.during(work)
        return reading.write_units + reading.refusals.total()

    def started(self) -> Attempt:
        self.queue.queue.enqueue("report", {"n": 1})
        self.poller.poll()
        return self.begin()

    def begin(self) -> Attempt:
        attempt = self.executor.begin(self.inbox.handovers.pop())
        assert isinstance(attempt, Attempt)
        return attempt

    def fail(self) -> float:
        attempt = self.started()
        return self.units(lambda: fail(attempt, Failure(error="no answer", code="TimeoutError")))


@pytest.fixture
def deploy(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> Callable[[JobType], Deployed]:
    return lambda job_type: Deployed(make_client(dynoxide_endpoint), job_type)


def test_a_run_costs_a_unit_more_the_first_of_a_window_two_and_opening_one(deploy: Callable[[JobType], Deployed]):
    plain, guarded = deploy(PLAIN), deploy(GUARDED)

    more = [guarded.fail() - plain.fail() for _ in range(3)]

    # The third also opens the circuit.
    assert more == [2, 1, 2]


def test_a_probe_costs_five_units_to_send_and_six_to_close_the_circuit(deploy: Callable[[JobType], Deployed]):
    plain, guarded = deploy(PLAIN), deploy(GUARDED)
    for _ in range(3):
        guarded.fail()
    guarded.queue.clock.advance(MINUTE)
    for each in (plain, guarded):
        each.queue.queue.enqueue("report", {"n": 2})

    assert guarded.units(guarded.poller.poll) - plain.units(plain.poller.poll) == 5
    probe, run = guarded.begin(), plain.begin()
    assert guarded.units(lambda: probe.complete(None)) - plain.units(lambda: run.complete(None)) == 6
    assert guarded.queue.operator.switches().pauses == {}


def test_a_probe_that_fails_costs_a_unit(deploy: Callable[[JobType], Deployed]):
    plain, guarded = deploy(PLAIN), deploy(GUARDED)
    for _ in range(3):
        guarded.fail()
    guarded.queue.clock.advance(MINUTE)

    assert guarded.fail() - plain.fail() == 1


def test_an_idle_poll_costs_the_same_with_a_breaker_open_or_not(deploy: Callable[[JobType], Deployed]):
    plain, guarded = deploy(PLAIN), deploy(GUARDED)
    for _ in range(3):
        plain.fail()
        guarded.fail()
    assert guarded.queue.operator.switches().pauses.keys() == {"report"}

    readings = [each.meter.during(each.poller.poll) for each in (plain, guarded)]

    assert readings[0].requests == readings[1].requests
    assert readings[0].read_units == readings[1].read_units
