"""Celery on SQS beside Leasehold: the same local AWS, as many tasks, senders and threads, requests counted."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from tests import servers
from tests.benchmarks.counting_proxy import CountingProxy
from tests.benchmarks.engines import CREDENTIALS, ROOT
from tests.benchmarks.side_by_side import leasehold_side
from tests.benchmarks.side_by_side.side import Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.benchmarks.sizes import Sizes

THREADS, SENDERS = 8, 4
# The first three send one by one from as many threads; with `enqueue_many` one call sends all, which Celery cannot.
SIDES = ("leasehold", "leasehold_batches", "celery", "leasehold_enqueue_many")
_WARM_UP = 20
# Seconds: for the last task's end to be written, and to see what a worker asks for while there is nothing to do.
_TO_REST, _IDLE = 0.3, 5
_CELERY_PYTHON = ROOT / ".venv-celery/bin/python"
_SIDES = ROOT / "tests/benchmarks/side_by_side"
DIFFERENCES = (
    "Celery's queue keeps a task only until it is done: no status, no result, no history, no listing.",
    "Celery on SQS does not deduplicate, and waits longer than 15 minutes only by holding the message in a worker.",
    "Celery's worker must run and be paid for all the time; here both run, deployed Leasehold has none.",
    "With batches ten tasks are handled at a time, and `enqueue_many` sends all in one call; Celery has neither.",
    "Leasehold writes four states of each job to a table; Celery sends, receives and deletes a message.",
)


def measure(sizes: Sizes) -> dict[str, Any]:
    """The median round of each side, which is judged, and how rounds compare; the sides take turns in going first."""
    taken: dict[str, list[dict[str, Any]]] = {name: [] for name in SIDES}
    with (
        servers.ministack(root=ROOT) as aws,
        CountingProxy(aws.endpoint) as proxy,
        tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder,
    ):
        leasehold_side.prepare(aws.endpoint)
        for number in range(sizes.rounds):
            sides = {
                "leasehold": _leasehold(proxy.endpoint, Path(folder)),
                "leasehold_batches": _leasehold(proxy.endpoint, Path(folder), BENCH_BATCHES="10"),
                "celery": _celery(aws.endpoint, proxy.endpoint, Path(folder), f"celery-bench-{number}"),
                "leasehold_enqueue_many": _leasehold(
                    proxy.endpoint, Path(folder), BENCH_BATCHES="10", BENCH_SENDERS="0"
                ),
            }
            for name in reversed(sides) if number % 2 else sides:
                taken[name].append(
                    _round(sides[name], proxy, sizes.tasks_beside_celery, idle_seconds=0 if number else _IDLE)
                )
    figures = {name: _figures(rounds, sizes.tasks_beside_celery) for name, rounds in taken.items()}
    ratio = figures["leasehold_enqueue_many"]["tasks_per_second"] / figures["celery"]["tasks_per_second"]
    return {
        "tasks": sizes.tasks_beside_celery,
        "threads": THREADS,
        "senders": SENDERS,
        "differences": list(DIFFERENCES),
        "batches_to_celery": round(ratio, 2),
        "to_celery": {name: to_celery(figures, name) for name in SIDES if name != "celery"},
        **figures,
    }


def to_celery(figures: dict[str, Any], side: str) -> dict[str, float]:
    """How many times Celery's tasks a second, round by round: what else the machine does slows all sides of a round."""
    rounds = zip(figures["celery"]["seconds_of_rounds"], figures[side]["seconds_of_rounds"], strict=True)
    ratios = sorted(celerys / ours for celerys, ours in rounds)
    found = {"median": statistics.median(ratios), "lowest": ratios[0], "highest": ratios[-1]}
    return {name: round(ratio, 2) for name, ratio in found.items()}


def headline(figures: dict[str, Any]) -> str:
    def said(name: str) -> str:
        side = figures[name]
        return f"{name} {side['tasks_per_second']:g} tasks a second with {side['requests_per_task']:g} requests each"

    ratios = ", ".join(f"{name} {each['median']:g}" for name, each in figures["to_celery"].items())
    return ", ".join(said(name) for name in SIDES if name in figures) + f"; times Celery's, by rounds: {ratios}"


def _round(side: Side, proxy: CountingProxy, tasks: int, *, idle_seconds: float) -> dict[str, Any]:
    with side.running() as running:
        running.seconds_of(_WARM_UP)
        # What the worker still has to say about them.
        time.sleep(_TO_REST)
        proxy.take()
        time.sleep(idle_seconds)
        idle = proxy.take()
        seconds = running.seconds_of(tasks)
        time.sleep(_TO_REST)
        counted = proxy.take()
    return {"seconds": seconds, "requests": dict(sorted(counted.items())), "idle_requests": idle.total()}


def _figures(rounds: Sequence[dict[str, Any]], tasks: int) -> dict[str, Any]:
    by_seconds = sorted(rounds, key=lambda each: each["seconds"])
    middle = by_seconds[(len(rounds) - 1) // 2]
    return {
        "seconds": round(middle["seconds"], 3),
        "seconds_of_rounds": [round(each["seconds"], 3) for each in rounds],
        "tasks_per_second": round(tasks / middle["seconds"], 1),
        "requests_per_task": round(sum(middle["requests"].values()) / tasks, 2),
        "requests": middle["requests"],
        "idle_requests_per_second": round(rounds[0]["idle_requests"] / _IDLE, 2),
    }


def _environment(endpoint: str, done: Path, **more: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    keys = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_DEFAULT_REGION": "us-east-1"}
    ours = {"BENCH_ENDPOINT": endpoint, "BENCH_DONE_FILE": str(done), "BENCH_SENDERS": str(SENDERS)}
    return {**inherited, **keys, **ours, **more}


def _leasehold(endpoint: str, folder: Path, **settings: str) -> Side:
    program = [sys.executable, "-m", "tests.benchmarks.side_by_side.leasehold_side"]
    done = folder / "-".join(["leasehold", *settings])
    environment = _environment(endpoint, done, **settings)
    return Side([*program, "work", str(THREADS)], [*program, "send"], environment, ROOT, done)


def _celery(aws: str, endpoint: str, folder: Path, queue: str) -> Side:
    """A queue for each round: what a worker that was stopped still asks for would take tasks of the next one."""
    if not _CELERY_PYTHON.exists():
        raise RuntimeError(f"{_CELERY_PYTHON.relative_to(ROOT)} is not there; `make bench` makes it")
    queues: Any = boto3.client("sqs", endpoint_url=aws, **CREDENTIALS)
    queues.create_queue(QueueName=queue)
    url = f"{endpoint}/000000000000/{queue}"
    done = folder / "celery"
    python = str(_CELERY_PYTHON)
    worker = [python, "-m", "celery", "-A", "celery_tasks", "worker", "--pool", "threads", "-c", str(THREADS)]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "warning"]
    environment = _environment(endpoint, done, BENCH_QUEUE_URL=url)
    return Side([*worker, *quiet], [python, "celery_tasks.py"], environment, _SIDES, done)
