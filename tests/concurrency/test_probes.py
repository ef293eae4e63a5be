"""Circuit breakers under fire: runs that end at once are all counted, and pollers that look at once send one probe."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from leasehold import CircuitBreaker, Fixed, JobStatus, JobType, NewJob
from leasehold.circuit_breaker.circuits import circuit_key
from leasehold.kernel.end import Failure
from leasehold.kernel.execute import Attempt, Executor
from leasehold.kernel.poll import Poller
from leasehold.runtime.signals import fail
from leasehold.telemetry import Event
from tests.concurrency.race import at_once
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.ports import Handover

POLLERS = 8
JOBS = 40
ROUNDS = 10
FAILURE = Failure(error="no answer", code="ConnectionError")

pytestmark = pytest.mark.dynoxide


def deploy(client: DynamoDBClient, min_runs: int) -> RealQueue:
    breaker = CircuitBreaker(min_runs=min_runs, probe_after=timedelta(minutes=1), longest_pause=timedelta(minutes=1))
    retry = Fixed(timedelta(days=1))
    return RealQueue(client, [JobType(name="sync", breaker=breaker, retry=retry)])


def started(deployed: RealQueue, handover: Handover) -> Attempt:
    attempt = Executor(deployed.process(), worker_id="handler").begin(handover)
    assert isinstance(attempt, Attempt)
    return attempt


def claimed(deployed: RealQueue, count: int) -> list[Handover]:
    deployed.queue.enqueue_many(NewJob(job="sync", payload={"n": n}) for n in range(count))
    inbox = Inbox()
    Poller(deployed.process(), inbox, worker_id="poller").poll()
    assert len(inbox.handovers) == count
    return inbox.handovers


def test_runs_that_end_at_once_are_all_counted_and_open_the_circuit_once(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    deployed = deploy(make_client(dynoxide_endpoint), min_runs=JOBS)
    attempts = [started(deployed, handover) for handover in claimed(deployed, JOBS)]

    for first in range(0, JOBS, POLLERS):
        together = attempts[first : first + POLLERS]
        at_once([partial(fail, each, FAILURE) for each in together])
        if first + POLLERS < JOBS:
            record = deployed.services.store.table.get(circuit_key("sync"))
            assert record is not None
            assert (record["runs"], record["failures"]) == (first + POLLERS, first + POLLERS)

    assert len(deployed.telemetry.of(Event.CIRCUIT_OPENED)) == 1
    assert deployed.operator.switches().pauses["sync"].reason.startswith(f"{JOBS} of {JOBS} runs failed")


def test_of_eight_pollers_one_sends_each_probe_and_the_last_one_frees_all(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    deployed = deploy(make_client(dynoxide_endpoint), min_runs=1)
    for handover in claimed(deployed, 1):
        fail(started(deployed, handover), FAILURE)
    deployed.queue.enqueue_many(NewJob(job="sync", payload={"n": n}) for n in range(JOBS))
    inbox = Inbox()
    pollers = [Poller(deployed.process(), inbox, worker_id=f"poller-{n}") for n in range(POLLERS)]
    at_once([poller.poll for poller in pollers])
    assert inbox.handovers == []

    for last in [False] * ROUNDS + [True]:
        deployed.clock.advance(timedelta(minutes=1))
        at_once([poller.poll for poller in pollers])
        (probe,) = inbox.handovers
        inbox.handovers.clear()
        attempt = started(deployed, probe)
        if last:
            attempt.complete(None)
        else:
            fail(attempt, FAILURE)

    at_once([poller.poll for poller in pollers])
    assert len(inbox.handovers) == JOBS - ROUNDS - 1
    assert len({handover.job_id for handover in inbox.handovers}) == len(inbox.handovers)
    for handover in inbox.handovers:
        started(deployed, handover).complete(None)
        assert deployed.job(handover.job_id).status is JobStatus.COMPLETED
