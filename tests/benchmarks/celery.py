"""Celery on SQS beside Leasehold: the same local AWS, as many tasks, as many threads, requests counted by a proxy."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from leasehold.local import servers
from tests.benchmarks.counting_proxy import CountingProxy
from tests.benchmarks.engines import CREDENTIALS, ROOT
from tests.benchmarks.side_by_side import leasehold_side

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.benchmarks.sizes import Sizes

THREADS = 8
_WARM_UP = 20
# Seconds: for the last task's end to be written, and to see what a worker asks for while there is nothing to do.
_TO_REST, _IDLE = 0.3, 5
_PATIENCE_SECONDS = 90
_CELERY_PYTHON = ROOT / ".venv-celery/bin/python"
_SIDES = ROOT / "tests/benchmarks/side_by_side"
DIFFERENCES = (
    "Celery's queue keeps a task only until it is done: no status, no result, no history, no listing.",
    "Celery on SQS does not deduplicate, and waits longer than 15 minutes only by holding the message in a worker.",
    "Celery's worker must run and be paid for all the time; here both run, deployed Leasehold has none.",
    "Leasehold writes four states of each job to a table; Celery sends, receives and deletes a message.",
)


@dataclass(frozen=True)
class Side:
    """A worker, and a program that sends tasks and prints when it began."""

    worker: Sequence[str]
    sender: Sequence[str]
    environment: dict[str, str]
    folder: Path
    done: Path

    def send(self, count: int) -> float:
        command = [*self.sender, str(count)]
        sent = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120, check=False
        )
        if sent.returncode:
            raise RuntimeError(f"{' '.join(command[-2:])} failed:\n{sent.stderr[-2000:]}")
        return float(sent.stdout)

    @contextmanager
    def working(self) -> Iterator[subprocess.Popen[str]]:
        log = self.done.with_suffix(".log")
        with log.open("w") as output:
            process = subprocess.Popen(
                self.worker, cwd=self.folder, env=self.environment, stdout=output, stderr=output, text=True
            )
            try:
                yield process
            finally:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def wait_for(self, count: int, process: subprocess.Popen[str]) -> list[float]:
        """When each of so many tasks was done."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(lines := self.done.read_text().splitlines()) < count:
            if process.poll() is not None or time.monotonic() > deadline:
                said = self.done.with_suffix(".log").read_text()[-2000:]
                raise RuntimeError(f"{len(lines)} of {count} tasks were done within {_PATIENCE_SECONDS} s:\n{said}")
            time.sleep(0.02)
        return [float(line) for line in lines]


def measure(sizes: Sizes) -> dict[str, Any]:
    figures: dict[str, Any] = {"tasks": sizes.tasks, "threads": THREADS, "differences": list(DIFFERENCES)}
    with (
        servers.ministack(root=ROOT) as aws,
        CountingProxy(aws.endpoint) as proxy,
        tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder,
    ):
        leasehold_side.prepare(aws.endpoint)
        figures["leasehold"] = _run(_leasehold(proxy.endpoint, Path(folder)), proxy, sizes.tasks)
        figures["celery"] = _run(_celery(aws.endpoint, proxy.endpoint, Path(folder)), proxy, sizes.tasks)
    return figures


def headline(figures: dict[str, Any]) -> str:
    def said(name: str) -> str:
        side = figures[name]
        return f"{name} {side['tasks_per_second']:g} tasks a second with {side['requests_per_task']:g} requests each"

    return ", ".join(map(said, ("leasehold", "celery")))


def _run(side: Side, proxy: CountingProxy, tasks: int) -> dict[str, Any]:
    side.done.touch()
    with side.working() as process:
        side.send(_WARM_UP)
        side.wait_for(_WARM_UP, process)
        # What the worker still has to say about them.
        time.sleep(_TO_REST)
        proxy.take()
        time.sleep(_IDLE)
        idle = proxy.take()
        began = side.send(tasks)
        ended = max(side.wait_for(_WARM_UP + tasks, process)[_WARM_UP:])
        time.sleep(_TO_REST)
        counted = proxy.take()
    return {
        "seconds": round(ended - began, 3),
        "tasks_per_second": round(tasks / (ended - began), 1),
        "requests_per_task": round(counted.total() / tasks, 2),
        "requests": dict(sorted(counted.items())),
        "idle_requests_per_second": round(idle.total() / _IDLE, 2),
    }


def _environment(endpoint: str, done: Path, **more: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    keys = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_DEFAULT_REGION": "us-east-1"}
    return {**inherited, **keys, "BENCH_ENDPOINT": endpoint, "BENCH_DONE_FILE": str(done), **more}


def _leasehold(endpoint: str, folder: Path) -> Side:
    program = [sys.executable, "-m", "tests.benchmarks.side_by_side.leasehold_side"]
    done = folder / "leasehold"
    return Side([*program, "work", str(THREADS)], [*program, "send"], _environment(endpoint, done), ROOT, done)


def _celery(aws: str, endpoint: str, folder: Path) -> Side:
    if not _CELERY_PYTHON.exists():
        raise RuntimeError(f"{_CELERY_PYTHON.relative_to(ROOT)} is not there; `make bench` makes it")
    queues: Any = boto3.client("sqs", endpoint_url=aws, **CREDENTIALS)
    queues.create_queue(QueueName="celery-bench")
    url = f"{endpoint}/000000000000/celery-bench"
    done = folder / "celery"
    python = str(_CELERY_PYTHON)
    worker = [python, "-m", "celery", "-A", "celery_tasks", "worker", "--pool", "threads", "-c", str(THREADS)]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "warning"]
    environment = _environment(endpoint, done, BENCH_QUEUE_URL=url)
    return Side([*worker, *quiet], [python, "celery_tasks.py", "send"], environment, _SIDES, done)
