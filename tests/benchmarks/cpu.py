"""Client CPU per job against a floor: the very same requests, sent by a bare botocore client in a loop.

A whole plain life is measured: enqueued one by one, found and claimed by polls, started and completed by handlers with
a pydantic model, each in an invocation of its own with logs and metrics as deployed, but written to nowhere.
"""

from __future__ import annotations

import os
import time
from contextlib import redirect_stdout
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from leasehold import BaseJobHandler, JobType, Poller, Queue, Registry, Worker
from leasehold.aws.telemetry import PowertoolsTelemetry
from leasehold.client.operator import Operator
from leasehold.domain.handover import Handover
from leasehold.engine.parts import Parts
from leasehold.engine.telemetry import Silence
from leasehold.store.dynamodb.connection import connect
from leasehold.store.dynamodb.creation import create_tables
from leasehold.store.dynamodb.table import DynamoTable, TableNames
from leasehold.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.domain.payload import Json

JOBS_PER_ROUND = 50
FEWEST_ROUNDS = 5
WORKER = "9d02b6e1"
PAYLOAD: dict[str, Json] = {"order_id": "o-20260101-000417", "note": "x" * 150}

type Call = tuple[str, dict[str, Any]]


class Receipt(BaseModel):
    order_id: str
    note: str


class SendReceipt(BaseJobHandler):
    @classmethod
    def payload_model(cls) -> type[Receipt]:
        return Receipt

    def handle(self, payload: Receipt) -> dict[str, str]:
        return {"sent": payload.order_id}


class Recording:
    """A client that notes every call before it makes it."""

    def __init__(self, client: DynamoDBClient) -> None:
        self._client = client
        self.calls: list[Call] = []

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**request: Any) -> Any:
            self.calls.append((operation, request))
            return getattr(self._client, operation)(**request)

        return call


class Inbox:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self.events.append(handover.to_event())


class Lives:
    """A fresh queue, and plain jobs that go through it."""

    def __init__(self, client: DynamoDBClient, name: str, telemetry: PowertoolsTelemetry | None = None) -> None:
        self._client, self._telemetry = client, telemetry
        self.names = TableNames(jobs=f"{name}-jobs", dead_letters=f"{name}-dead-letters")
        create_tables(client, self.names)
        Operator(self._parts(client)).publish(Registry(types={"send_receipt": JobType(name="send_receipt")}))

    def live(self, jobs: int, client: DynamoDBClient | None = None) -> None:
        """Three processes, each with caches of its own: a producer, a poller, and a handler for every hand-over."""
        client, inbox = client or self._client, Inbox()
        queue = Queue(self._parts(client))
        for _ in range(jobs):
            queue.enqueue("send_receipt", PAYLOAD)
        poller = self._parts(client)
        report = Poller(poller, inbox, worker_id=f"poller-{WORKER}").poll()
        assert (report.claimed, len(inbox.events)) == (jobs, jobs), report
        self._flush()
        handler = self._parts(client)
        for event in inbox.events:
            worker = Worker(handler, {"send_receipt": SendReceipt}, worker_id=WORKER)
            execution = worker.run(Handover.from_event(event))
            assert execution == "completed", execution
            self._flush()

    def _parts(self, client: DynamoDBClient) -> Parts:
        return Parts(store=Store(DynamoTable(client, self.names)), telemetry=self._telemetry or Silence())

    def _flush(self) -> None:
        if self._telemetry is not None:
            self._telemetry.flush()


def measure(endpoint: str, jobs: int) -> dict[str, float]:
    """CPU milliseconds and wall time per job, ours and the floor's, as medians of short rounds that take turns.

    A ratio is the median of the rounds' own ratios: whatever else the machine does then slows both sides of a round.
    """
    client = connect(
        endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="bench", aws_secret_access_key="bench"
    )
    figures: dict[str, list[float]] = {}
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):  # metrics are printed, as Lambda wants them
        # Made once, like a container's own.
        telemetry = PowertoolsTelemetry("bench", stream=nowhere)
        for number in range(max(jobs // JOBS_PER_ROUND, FEWEST_ROUNDS) + 1):
            name = f"cpu{os.getpid()}-{number}-{time.monotonic_ns()}"
            taken = _round(client, name, JOBS_PER_ROUND, telemetry, floor_first=number % 2 == 0)
            if number:  # the first one also pays for connections and imports
                for figure, value in taken.items():
                    figures.setdefault(figure, []).append(value)
    client.close()
    ratios = {
        "cpu_ratio": _median_ratio(figures, "cpu_ms"),
        "cpu_ratio_without_telemetry": _median_ratio(figures, "silent_cpu_ms"),
        "wall_ratio": _median_ratio(figures, "wall_ms"),
    }
    return {**{figure: median(values) for figure, values in figures.items()}, **ratios}


def _round(
    client: DynamoDBClient, name: str, jobs: int, telemetry: PowertoolsTelemetry, *, floor_first: bool
) -> dict[str, float]:
    recorded, recording = Lives(client, f"{name}r"), Recording(client)
    recorded.live(jobs, recording)  # type: ignore[arg-type]
    # The same requests again, on tables that are as they were before: each has the same effect.
    for table in (recorded.names.jobs, recorded.names.dead_letters):
        client.delete_table(TableName=table)
    Lives(client, f"{name}r")
    loud, silent = Lives(client, f"{name}l", telemetry), Lives(client, f"{name}s")
    sides: dict[str, Callable[[], None]] = {
        "floor_": lambda: _replay(client, recording.calls),
        "": lambda: loud.live(jobs),
        "silent_": lambda: silent.live(jobs),
    }
    figures = {"requests": len(recording.calls) / jobs}
    for side in list(sides) if floor_first else reversed(sides):
        cpu, wall = _timed(sides[side])
        figures |= {f"{side}cpu_ms": cpu / jobs, f"{side}wall_ms": wall / jobs}
    return figures


def _replay(client: DynamoDBClient, calls: list[Call]) -> None:
    for operation, request in calls:
        getattr(client, operation)(**request)


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of this process's CPU, and of time."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


def _median_ratio(figures: dict[str, list[float]], ours: str) -> float:
    floor = figures["floor_wall_ms" if ours == "wall_ms" else "floor_cpu_ms"]
    return median(mine / least for mine, least in zip(figures[ours], floor, strict=True))
