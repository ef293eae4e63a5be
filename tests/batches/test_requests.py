"""What a batch costs: requests and write units of a job, from its enqueueing to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from leasehold.batches.model import Batch
from leasehold.kernel.job_type import JobType
from leasehold.kernel.poll import Poller
from leasehold.kernel.transitions import JobStatus
from leasehold.runtime.handler import BaseJobHandler
from leasehold.runtime.worker import Worker
from tests.meter import Meter
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.ports import Handover

JOBS = 50
SIZE = 10


class Nothing(BaseModel):
    """No field at all."""


class Together(BaseJobHandler[Nothing]):
    def handle_batch(self, payloads, context):
        return [{"sent": True} for _ in payloads]


class Invokes:
    """Keeps what it is given; each is one request to Lambda."""

    def __init__(self) -> None:
        self.batches: list[Sequence[Handover]] = []

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self.batches.append([handover])

    def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
        self.batches.append(handovers)


@pytest.mark.dynoxide
def test_a_job_in_a_batch_of_ten_takes_at_most_1_6_requests_and_9_write_units(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    """Each is enqueued by a request of its own; what a poll reads to find them is not counted, as the issue asks."""
    client = make_client(dynoxide_endpoint)
    deployed = RealQueue(client, [JobType(name="receipt", batch=Batch(size=SIZE))])
    meter, invokes = Meter(client), Invokes()
    deployed.process()
    meter.take()

    job_ids = [deployed.queue.enqueue("receipt", {}).job_id for _ in range(JOBS)]
    enqueued = meter.take()
    Poller(deployed.process(), invokes, worker_id="poller-1").poll()
    polled = meter.take()
    worker = Worker(deployed.process(), {"receipt": Together}, worker_id="handler-1", limit_time=False)
    for batch in invokes.batches:
        worker.run_batch(batch)
    handled = meter.take()

    assert {deployed.job(each).status for each in job_ids} == {JobStatus.COMPLETED}
    assert [len(batch) for batch in invokes.batches] == [SIZE] * (JOBS // SIZE)
    requests = enqueued.writes + polled.writes + len(invokes.batches) + handled.total_requests
    assert requests / JOBS <= 1.6
    # Of each batch: one read of its jobs, one start of all, one end of all; the registry and the switches once.
    assert handled.requests["BatchExecuteStatement"] == 2 * len(invokes.batches)
    assert handled.requests["BatchGetItem"] == len(invokes.batches)
    assert (enqueued.write_units + polled.write_units + handled.write_units) / JOBS <= 9.1
