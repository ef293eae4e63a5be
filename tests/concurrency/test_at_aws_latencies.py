"""From enqueue to end where calls take as long as on AWS: a real engine, real clients that sleep, the real pool."""

from __future__ import annotations

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from leasehold import BaseJobHandler, Enqueued, JobStatus, JobType, NewJob, Poller, Queue, Registry, Worker
from leasehold.batches.model import Batch
from leasehold.features import Store
from leasehold.kernel.dynamodb.connection import connect
from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from leasehold.kernel.services import Services
from leasehold.operate.operator import Operator
from leasehold.pool import threads_for
from tests.latency import AWS, slowed
from tests.tables import create_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.ports import Handover

TYPES = (JobType(name="plain"), JobType(name="limited", concurrency=3), JobType(name="together", batch=Batch(size=5)))
JOBS_OF_EACH = 20


class Payload(BaseModel):
    number: int


class Handler(BaseJobHandler[Payload]):
    def handle(self, payload: Payload) -> dict[str, int]:
        return {"number": payload.number}


class Lambda:
    """Takes a hand-over as long as an invoke takes, and runs it in a container that does nothing else meanwhile."""

    def __init__(self, make_worker: Callable[[], Worker]) -> None:
        self._container = threading.local()
        self._running = ThreadPoolExecutor(8, initializer=lambda: setattr(self._container, "worker", make_worker()))
        self.handovers = 0

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self._start("run", handover, 1)

    def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
        self._start("run_batch", handovers, len(handovers))

    def _start(self, run: str, what: object, count: int) -> None:
        time.sleep(AWS.of_operation("Invoke"))
        self.handovers += count
        self._running.submit(lambda: getattr(self._container.worker, run)(what))


@pytest.mark.dynoxide
def test_jobs_with_and_without_limits_and_in_batches_run_once_where_calls_take_their_time(
    dynoxide_endpoint: str,
) -> None:
    names = TableNames(jobs=f"latency-{uuid.uuid4().hex[:8]}", dead_letters=f"latency-{uuid.uuid4().hex[:8]}")

    def services(**more: Any) -> Services:
        client = slowed(connect(endpoint_url=dynoxide_endpoint))
        return Services(store=Store(DynamoTable(client, names)), **more)

    create_tables(connect(endpoint_url=dynoxide_endpoint), names)
    queue = Queue(services())
    types = {each.name: replace(each, function=each.name) for each in TYPES}
    Operator(queue.services).publish(Registry(types=types, shards=4))
    taken = Lambda(lambda: Worker(services(), dict.fromkeys(types, Handler), worker_id="worker", limit_time=False))
    pool = threads_for(512)
    poller = Poller(services(pool=pool), taken, worker_id="poller", pool=pool)

    made = queue.enqueue_many(
        NewJob(job=name, payload={"number": number}) for name in types for number in range(JOBS_OF_EACH)
    )
    ids = [each.job_id for each in made if isinstance(each, Enqueued)]
    jobs: dict[JobId, Job] = {}
    for _ in range(60):
        poller.poll()
        jobs = queue.services.store.jobs.get_many(ids)
        if all(job.has_ended for job in jobs.values()):
            break
        time.sleep(0.2)

    assert len(jobs) == len(types) * JOBS_OF_EACH
    assert {job.status for job in jobs.values()} == {JobStatus.COMPLETED}
    assert {len(job.runs) for job in jobs.values()} == {1}
    assert taken.handovers == len(jobs)
