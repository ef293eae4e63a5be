"""Leasehold's side of the comparison with Celery, as two programs of its own.

python -m tests.benchmarks.side_by_side.leasehold_side send          enqueue as many jobs as each line of its input says
python -m tests.benchmarks.side_by_side.leasehold_side work THREADS  poll and handle until it is told to end

BENCH_SENDERS threads enqueue one by one; if it is 0, one call of `enqueue_many` enqueues all. With BENCH_BATCHES set,
jobs are handled ten at a time.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from leasehold import BaseJobHandler, JobType, NewJob, Queue, Worker
from leasehold.batches.model import Batch
from leasehold.kernel.dynamodb.table import TableNames
from leasehold.kernel.poll import Poller
from leasehold.kernel.registry import Registry
from leasehold.operate.operator import Operator
from tests.benchmarks.engines import client_of
from tests.tables import create_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.ports import Handover

NAMES = TableNames(jobs="side-by-side-jobs", dead_letters="side-by-side-dead-letters")
_TYPE, _BATCHED = "send_order_receipt", "send_order_receipts"
_SIZE = 10
# Between two polls that find nothing; a deployed poller is woken by the stream instead.
_PAUSE_SECONDS = 0.1


class Receipt(BaseModel):
    order_id: str
    note: str


class SendOrderReceipt(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[Receipt]:
        return Receipt

    def handle(self, payload: Receipt) -> None:
        with open(os.environ["BENCH_DONE_FILE"], "a", buffering=1) as done:
            done.write(f"{time.time()}\n")


class SendOrderReceipts(BaseJobHandler[Receipt]):
    def handle_batch(self, payloads: Sequence[Receipt], context: object) -> None:
        with open(os.environ["BENCH_DONE_FILE"], "a", buffering=1) as done:
            done.write(f"{time.time()}\n" * len(payloads))


def type_used() -> str:
    return _BATCHED if os.environ.get("BENCH_BATCHES") else _TYPE


def open_queue() -> Queue:
    client: Any = client_of(os.environ["BENCH_ENDPOINT"])
    return Queue.connect(NAMES.jobs, NAMES.dead_letters, client=client)


def prepare(endpoint: str) -> None:
    """The tables and what is deployed in them."""
    client = client_of(endpoint)
    create_tables(client, NAMES)
    queue = Queue.connect(NAMES.jobs, NAMES.dead_letters, client=client)
    types = {_TYPE: JobType(name=_TYPE), _BATCHED: JobType(name=_BATCHED, batch=Batch(size=_SIZE))}
    Operator(queue.services).publish(Registry(types=types, ended_index=True))


def send() -> None:
    """And print when it began."""
    queue = open_queue()
    senders = int(os.environ["BENCH_SENDERS"])
    with ThreadPoolExecutor(max_workers=max(1, senders)) as pool:
        for line in sys.stdin:
            began = time.time()
            jobs = [NewJob(job=type_used(), payload={"order_id": "o-20260101-000417", "note": "thank you"})] * int(line)
            if senders:
                list(pool.map(lambda job: queue.enqueue(job.job, job.payload), jobs))
            else:
                queue.enqueue_many(jobs)
            print(began, flush=True)


def work(threads: int) -> None:
    services = open_queue().services
    worker = Worker(
        services, {_TYPE: SendOrderReceipt, _BATCHED: SendOrderReceipts}, worker_id="bench", limit_time=False
    )
    with ThreadPoolExecutor(max_workers=threads) as pool:
        poller = Poller(services, _ToThreads(pool, worker), worker_id="poller", pool=services.pool)
        while True:
            if not poller.poll().claimed:
                time.sleep(_PAUSE_SECONDS)


class _ToThreads:
    """Hands over to the threads of this process instead of to a function."""

    def __init__(self, pool: ThreadPoolExecutor, worker: Worker) -> None:
        self._pool, self._worker = pool, worker

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self._pool.submit(self._worker.run, handover)

    def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
        self._pool.submit(self._worker.run_batch, handovers)


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send()
    else:
        work(int(sys.argv[2]))
