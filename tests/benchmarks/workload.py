"""Plain jobs in three phases: enqueue them, poll until nothing is due, handle what was handed over.

What is deployed does it: the poller, and for every hand-over a worker of its own, whose handler has a pydantic model,
with the logs and metrics of Powertools if they are given. Only time stands still between the phases, so that no lease
and no cache depends on how fast the machine is.
"""

from __future__ import annotations

import os
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from leasehold import BaseJobHandler, JobType, Poller, Queue, Registry, Worker
from leasehold.aws.handovers import handover_event, handover_of
from leasehold.aws.telemetry import PowertoolsTelemetry
from leasehold.features import Store
from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from leasehold.kernel.execute import Execution
from leasehold.kernel.services import Services
from leasehold.operate.operator import Operator
from leasehold.telemetry import Silence
from leasehold.testing import FakeClock
from tests.real_queue import Inbox
from tests.tables import create_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.payload import Json
    from leasehold.kernel.ports import Handover

ENQUEUE, POLL, HANDLE = PHASES = ("enqueue", "poll", "handle")
JOB_TYPE = "send_order_receipt"
PAYLOAD: dict[str, Json] = {"order_id": "o-20260101-000417", "note": "x" * 150}


class Receipt(BaseModel):
    order_id: str
    note: str


class SendOrderReceipt(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[Receipt]:
        return Receipt

    def handle(self, payload: Receipt) -> dict[str, str]:
        return {"sent": payload.order_id}


@contextmanager
def telemetry_to_nowhere() -> Iterator[PowertoolsTelemetry]:
    """Logs and metrics are made as deployed, and written to nowhere."""
    # Metrics are printed, as Lambda wants them.
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        # A service of its own: Powertools keeps the stream that a service was first given.
        yield PowertoolsTelemetry(f"bench-{uuid.uuid4().hex[:8]}", stream=nowhere)


@dataclass
class Workload:
    """`tasks` yields the pieces of a phase, each of which may run beside the others; run the phases in order."""

    client: DynamoDBClient
    name: str
    jobs: int
    telemetry: PowertoolsTelemetry | None = None

    def __post_init__(self) -> None:
        names = TableNames(jobs=f"{self.name}-jobs", dead_letters=f"{self.name}-dead-letters")
        create_tables(self.client, names)
        self._clock, self._inbox = FakeClock(), Inbox()

        def process() -> Services:
            store = Store(DynamoTable(self.client, names))
            return Services(store=store, clock=self._clock, telemetry=self.telemetry or Silence())

        Operator(process()).publish(Registry(types={JOB_TYPE: JobType(name=JOB_TYPE)}, ended_index=True))
        self._queue = Queue(process())
        self._poller = Poller(process(), self._inbox, worker_id="poller-4f1c9a27")
        self._handler = process()

    def tasks(self, phase: str) -> Iterator[Callable[[], object]]:
        match phase:
            case "enqueue":
                yield from [partial(self._queue.enqueue, JOB_TYPE, PAYLOAD)] * self.jobs
            case "poll":
                self._clock.advance(timedelta(seconds=1))
                yield self._poll
            case "handle":
                if len(self._inbox.handovers) != self.jobs:
                    raise AssertionError(f"{len(self._inbox.handovers)} of {self.jobs} jobs were handed over")
                yield from [partial(self._handle, handover) for handover in self._inbox.handovers]
            case _:
                raise ValueError(f"a workload has the phases {', '.join(PHASES)}, not {phase!r}")

    def run(self, phase: str, *, threads: int = 1) -> None:
        run_all(list(self.tasks(phase)), threads=threads)

    def _poll(self) -> None:
        self._poller.poll()
        self._flush()

    def _handle(self, handover: Handover) -> None:
        """As a Lambda function does, which has a main thread: elsewhere a time limit would need one thread more."""
        is_main = threading.current_thread() is threading.main_thread()
        worker = Worker(self._handler, {JOB_TYPE: SendOrderReceipt}, worker_id="9d02b6e1", limit_time=is_main)
        execution = worker.run(handover_of(handover_event(handover)))
        if execution is not Execution.COMPLETED:
            raise AssertionError(f"a job ended as {execution}: what is measured must complete")
        self._flush()

    def _flush(self) -> None:
        if self.telemetry is not None:
            self.telemetry.flush()


def run_all(tasks: Sequence[Callable[[], object]], *, threads: int) -> None:
    if threads == 1:
        for task in tasks:
            task()
        return
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for done in [pool.submit(task) for task in tasks]:
            done.result()
