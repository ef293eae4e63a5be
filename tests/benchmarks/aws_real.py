"""The same profile in real time: a real client that sleeps as long as AWS takes, beside the local engine.

python -m tests.benchmarks.aws_real poll ENDPOINT TABLE JOBS   the poller's process, told by its input to begin
python -m tests.benchmarks.aws_real second ENDPOINT TABLE              a handler that works until its second is over
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from typing import TYPE_CHECKING, Any, ClassVar

import boto3
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from pydantic import BaseModel

from leasehold import BaseJobHandler, JobType, NewJob, Poller, Queue, Registry, Worker
from leasehold.aws.dispatcher import LambdaDispatcher
from leasehold.aws.telemetry import PowertoolsTelemetry
from leasehold.batches.model import Batch
from leasehold.features import Store
from leasehold.kernel import keys
from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from leasehold.kernel.services import Services
from leasehold.kernel.table import Update
from leasehold.operate.operator import Operator
from leasehold.pool import Threads, threads_for
from tests import dynoxide_words
from tests.benchmarks.engines import CREDENTIALS, ROOT, client_of, dynoxide
from tests.benchmarks.workload import PHASES, Workload
from tests.latency import cpu_share, quota, release, slowed
from tests.meter import Meter
from tests.tables import create_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leasehold.kernel.ports import Handover
    from tests.benchmarks.sizes import Sizes

PROFILE = "tests/latency.py: AWS, slept by the client at botocore's edge, in real time on this machine"
_TYPE = "plain"
_POLLER_MB, _HANDLER_MB = 512, 128
_SHARDS = 16
_BATCH = 10


def measure(sizes: Sizes) -> dict[str, Any]:
    with dynoxide() as endpoint:
        return {
            "profile": PROFILE,
            "handovers": handovers(endpoint, sizes.handovers),
            "bulk_enqueue_seconds": bulk_enqueue(endpoint, sizes.bulk),
            "bulk_enqueue_seconds_with_the_local_engine": bulk_enqueue(endpoint, sizes.bulk, is_engine_asked=True),
            "batch_requests_per_job": batch_requests(endpoint),
            "log_bytes_per_job": log_bytes(endpoint),
            "second_at_128_mb": whole_second(endpoint),
        }


# --- hand-overs


def handovers(endpoint: str, jobs: int) -> dict[str, Any]:
    """One poller of one shard, at full speed and with a 512 MB function's share of a core."""
    free, held = _polled(endpoint, jobs, share=None), _polled(endpoint, jobs, share=cpu_share(_POLLER_MB))
    cpu = free["cpu_seconds"] / free["handovers"]
    return {
        "per_second": _rate(free),
        "cpu_ms": round(cpu * 1000, 3),
        "at_0_29_of_a_core": _rate(held)
        if held["is_held"]
        else round(min(_rate(free), cpu_share(_POLLER_MB) / cpu), 1),
        "share_is_by": "a cgroup's quota" if held["is_held"] else "model: the share divided by the CPU of a hand-over",
        "local_engine_updates_per_second": _ceiling(endpoint),
    }


def _rate(polled: dict[str, Any]) -> float:
    return round(float(polled["handovers"]) / float(polled["seconds"]), 1)


def _polled(endpoint: str, jobs: int, *, share: float | None) -> dict[str, Any]:
    names, queue = _tables(endpoint, JobType(name=_TYPE))
    queue.enqueue_many(NewJob(job=_TYPE, payload={"n": n}) for n in range(jobs))
    with _child("poll", endpoint, names.jobs, str(jobs), share=share) as (answer, is_held):
        return {**answer, "is_held": is_held}


def poll(endpoint: str, table: str, jobs: int) -> None:
    """Poll until all is handed over. Its first phase, as Lambda has it, ends with `ready`: it is not held back."""
    services = _services(slowed(client_of(endpoint)), _names(table), pool=threads_for(_POLLER_MB))
    services.deployment.registry()
    poller = Poller(services, LambdaDispatcher(_stubbed_lambda()), worker_id="bench", pool=services.pool)
    _begin()
    began, cpu, handed_over = time.perf_counter(), time.process_time(), 0
    while handed_over < jobs:
        handed_over += poller.poll().claimed
    _say(seconds=time.perf_counter() - began, cpu_seconds=time.process_time() - cpu, handovers=handed_over)


def _stubbed_lambda() -> Any:
    """A real client whose requests are answered at botocore's edge, after as long as Lambda takes."""
    client: Any = slowed(boto3.client("lambda", endpoint_url="http://127.0.0.1:9", **CREDENTIALS))

    def answer(request: Any, **_: Any) -> AWSResponse:
        return AWSResponse(request.url, 202, HTTPHeaders(), _Body())

    client.meta.events.register_last("before-send.lambda.Invoke", answer)
    return client


class _Body:
    def __init__(self, content: bytes = b"") -> None:
        self._content = content

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        yield self._content


def _ceiling(endpoint: str, batches: int = 40) -> float:
    """What the engine takes of updates in batches of 25, from four callers at once and without any waiting."""
    _, queue = _tables(endpoint, JobType(name=_TYPE))
    made = queue.enqueue_many([NewJob(job=_TYPE)] * 25)
    table = queue.services.store.table
    pool = Threads(4)
    updates = [
        Update(key=keys.job(each.job_id), conditions=(), sets={"note": "x"}) for each in made if hasattr(each, "job_id")
    ]
    began = time.perf_counter()
    for pending in [pool.submit(lambda: table.update_many(updates)) for _ in range(batches)]:
        pending.result()
    return round(batches * len(updates) / (time.perf_counter() - began))


# --- a bulk


def bulk_enqueue(endpoint: str, jobs: int, *, is_engine_asked: bool = False) -> dict[str, Any]:
    """Wall and CPU of one `enqueue_many` on sixteen shards; nearly all of it should be CPU.

    The inserts are answered at botocore's edge, unless the engine is asked: it takes fewer than one client sends.
    """
    names, _ = _tables(endpoint, JobType(name=_TYPE), shards=_SHARDS)
    client = slowed(client_of(endpoint))
    if not is_engine_asked:
        client.meta.events.register_last("before-send.dynamodb.BatchExecuteStatement", _taken)
    queue = Queue(_services(client, names, pool=Threads()))
    queue.enqueue_many([NewJob(job=_TYPE)] * 25)
    wanted = [NewJob(job=_TYPE, payload={"n": n}) for n in range(jobs)]
    began, cpu = time.perf_counter(), time.process_time()
    results = queue.enqueue_many(wanted)
    wall, used = time.perf_counter() - began, time.process_time() - cpu
    assert all(getattr(each, "created", False) for each in results)
    return {
        "profile": PROFILE,
        "jobs": jobs,
        "shards": _SHARDS,
        "wall": round(wall, 2),
        "cpu": round(used, 2),
        "ratio": round(wall / used, 3),
    }


def _taken(request: Any, **_: Any) -> AWSResponse:
    """As DynamoDB answers statements that were all made."""
    count = request.body.count(b'"Statement"')
    return AWSResponse(request.url, 200, HTTPHeaders(), _Body(json.dumps({"Responses": [{}] * count}).encode()))


# --- batches, logs


class Nothing(BaseModel):
    """No field at all."""


class Together(BaseJobHandler[Nothing]):
    def handle_batch(self, payloads: Sequence[Nothing], context: object) -> None:
        """Nothing: its requests are counted."""


class _Invokes:
    """Keeps what it is given; each is one request to Lambda."""

    def __init__(self) -> None:
        self.batches: list[Sequence[Handover]] = []

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self.batches.append([handover])

    def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
        self.batches.append(handovers)


def batch_requests(endpoint: str, jobs: int = 50) -> float:
    """Requests of a job from its own enqueue to its end, without what the poll reads to find it."""
    client = client_of(endpoint)
    names, queue = _tables(endpoint, JobType(name=_TYPE, batch=Batch(size=_BATCH)), client=client)
    meter, invokes = Meter(client), _Invokes()
    for _ in range(jobs):
        queue.enqueue(_TYPE, {})
    enqueued = meter.take()
    Poller(_services(client, names), invokes, worker_id="bench").poll()
    polled = meter.take()
    worker = Worker(_services(client, names), {_TYPE: Together}, worker_id="bench", limit_time=False)
    for batch in invokes.batches:
        worker.run_batch(batch)
    handled = meter.take()
    return round((enqueued.writes + polled.writes + len(invokes.batches) + handled.total_requests) / jobs, 3)


def log_bytes(endpoint: str, jobs: int = 10) -> float:
    """What a plain job leaves in the logs: its enqueueing, its share of a poll that found ten, and its run."""
    lines = StringIO()
    with redirect_stdout(lines):
        telemetry = PowertoolsTelemetry(f"bench-{uuid.uuid4().hex[:8]}", stream=lines)
        workload = Workload(client_of(endpoint), f"logs-{uuid.uuid4().hex[:8]}", jobs, telemetry)
        for phase in PHASES:
            workload.run(phase)
    return round(len(lines.getvalue().encode()) / jobs)


# --- a second at 128 MB


class UntilStopped(BaseJobHandler[Nothing]):
    had_seconds: ClassVar[list[float]] = [0.0]

    def handle(self, payload: Nothing) -> None:
        """Work: each turn is noted, so that the last one says how long it had."""
        began = time.perf_counter()
        while True:
            self.had_seconds[0] = time.perf_counter() - began


def whole_second(endpoint: str) -> dict[str, Any]:
    """How much of `timeout = "1s"` a handler has that never ends, with a 128 MB function's share of a core."""
    names, queue = _tables(endpoint, JobType(name=_TYPE, timeout=timedelta(seconds=1), max_attempts=1))
    queue.enqueue(_TYPE, {})
    with _child("second", endpoint, names.jobs, share=cpu_share(_HANDLER_MB)) as (answer, is_held):
        return {**answer, "share": round(cpu_share(_HANDLER_MB), 3), "has_quota": is_held}


def second(endpoint: str, table: str) -> None:
    services = _services(slowed(client_of(endpoint)), _names(table))
    services.deployment.registry()
    invokes = _Invokes()
    Poller(services, invokes, worker_id="bench").poll()
    ((handover,),) = invokes.batches
    worker = Worker(services, {_TYPE: UntilStopped}, worker_id="bench")
    _begin()
    execution = worker.run(handover)
    _say(seconds=round(UntilStopped.had_seconds[0], 3), execution=str(execution))


# --- what they share


def _names(table: str) -> TableNames:
    return TableNames(jobs=table, dead_letters=f"{table}-dead-letters")


def _services(client: Any, names: TableNames, **more: Any) -> Services:
    return Services(store=Store(DynamoTable(client, names)), **more)


def _tables(endpoint: str, *types: JobType, shards: int = 1, client: Any = None) -> tuple[TableNames, Queue]:
    client = client or client_of(endpoint)
    names = _names(f"bench-{uuid.uuid4().hex[:8]}")
    create_tables(client, names)
    services = _services(client, names)
    published = {each.name: replace(each, function=f"fn-{each.name}") for each in types}
    Operator(services).publish(Registry(types=published, shards=shards))
    return names, Queue(services)


@contextmanager
def _child(*arguments: str, share: float | None) -> Iterator[tuple[dict[str, Any], bool]]:
    """The answer of a process of its own, which was held to a share of a core from its `ready` on."""
    command = [sys.executable, "-m", "tests.benchmarks.aws_real", *arguments]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert child.stdin is not None
    assert child.stdout is not None
    group = None
    try:
        if child.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{' '.join(arguments)} did not begin")
        group = quota(child.pid, share) if share is not None else None
        child.stdin.write("\n")
        child.stdin.close()
        yield json.loads(child.stdout.readline()), group is not None
        child.wait(timeout=60)
    finally:
        child.kill()
        child.wait()
        release(group)


def _begin() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def _say(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    # Else its claims would go one by one, at more than twice the CPU.
    dynoxide_words.install()
    match sys.argv[1:]:
        case ["poll", endpoint, table, jobs]:
            poll(endpoint, table, int(jobs))
        case ["second", endpoint, table]:
            second(endpoint, table)
        case _:
            sys.exit(__doc__)
