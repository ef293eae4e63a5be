"""Speed where calls take time: hand-overs, one job, lateness and back-pressure in virtual time.

With the latencies of AWS and the CPU of deployed functions: tests/latency.py.

What is virtual is exact and the same on every machine; the real figures beside it are of this one.
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from docs.costing.figures import Assumptions
from docs.costing.page import systems
from docs.costing.prices import load as load_prices
from leasehold import BaseJobHandler, Worker
from leasehold.kernel.job_type import JobType
from leasehold.kernel.poll import Poller
from leasehold.webhooks.model import delivery_type
from tests.benchmarks import aws_real
from tests.benchmarks.results import load
from tests.latency import AWS, AWS_WITH_CPU
from tests.limits.virtual_queue import VirtualQueue, Work, works
from tests.simulation.kernel import SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leasehold.kernel.ports import Handover
    from tests.benchmarks.sizes import Sizes

_TYPE = "plain"
_PER_SHARD = 250
_PROFILE = "tests/latency.py: AWS_WITH_CPU, pollers of 512 MB, virtual time"


def measure(sizes: Sizes) -> dict[str, Any]:
    """What the issue of speed asks for, in virtual time and, under `real`, on this machine."""
    figures: dict[str, Any] = {"profile": _PROFILE}
    for name, part in _parts(sizes):
        began = time.monotonic()
        figures[name] = part()
        print(f"      {name}: {time.monotonic() - began:.0f} s", flush=True)
    polls = figures.pop("poll_one_job")
    for figure in ("seconds", "calls"):
        figures[f"poll_one_job_{figure}"] = {shards: each[figure] for shards, each in polls.items()}
    return {
        **figures,
        **{name: figures["real"].pop(name) for name in ("bulk_enqueue_seconds", "batch_requests_per_job")},
    }


def headline(figures: dict[str, Any]) -> str:
    virtual = ", ".join(f"{rate:g} on {shards}" for shards, rate in figures["handovers_per_second"].items())
    real = figures["real"]["handovers"]
    return (
        f"hand-overs a second by shards: {virtual} (virtual); {real['per_second']:g} here on one, "
        f"{real['at_0_29_of_a_core']:g} with 0.29 of a core, {real['cpu_ms']:g} ms of CPU each"
    )


def _parts(sizes: Sizes) -> Iterator[tuple[str, Callable[[], Any]]]:
    shards = sizes.shards
    yield "handovers_per_second", lambda: {str(n): handovers_per_second(n, _PER_SHARD * n) for n in shards}
    yield "poll_one_job", lambda: {str(n): poll_one_job(n) for n in (1, 16, 64)}
    yield "idle_poll_calls", lambda: poll_one_job(1, jobs=0)["calls"]
    yield "lateness_p99_seconds", lambda: {str(n): lateness_p99(n, jobs=sizes.scheduled) for n in (1, 16)}
    yield "backpressure", lambda: backpressure(jobs=sizes.burst)
    yield "settle_seconds", lambda: settle_seconds(sizes.burst // 2)
    yield "dollars", dollars
    yield "real", lambda: aws_real.measure(sizes)


def dollars() -> dict[str, float]:
    """An idle month by default, and what a further type adds, with the figures of the last whole run."""
    prices, assumed = load_prices(), Assumptions()
    idle, *_ = systems(load(), prices)
    further = prices["alarm"].of(assumed.alarms_a_type)
    return {"idle_month": round(idle.dollars(0), 2), "further_type": round(further, 2)}


def handovers_per_second(shards: int, jobs: int) -> float:
    """So many jobs are due when the tick comes: from the first hand-over to the last."""
    queue = _queue(shards)
    try:
        queue.queue.enqueue_many(works(jobs, _TYPE, seconds=0.0))
        queue.kernel.micros += SECOND
        queue.begin()
        queue.run(300, until=lambda: len(queue.figures.dispatched) >= jobs)
        at = sorted(queue.figures.dispatched)
        return round((len(at) - 1) / (at[-1] - at[0]), 1)
    finally:
        queue.close()


def poll_one_job(shards: int, *, jobs: int = 1) -> dict[str, float]:
    """One poll that finds one due job, or none: how long it takes, and how many calls of the table."""
    queue = _queue(shards)
    try:
        later = queue.queue.services.clock.now() + timedelta(
            seconds=90
        )  # no wake tells of it: that would be another poll
        for _ in range(jobs):
            queue.queue.enqueue(_TYPE, {"seconds": 0.0}, run_at=later)
        queue.kernel.micros += 91 * SECOND
        ended: list[dict[str, float]] = []
        before = queue.kernel.seconds
        queue.poll_once(
            lambda process: ended.append({"seconds": round(queue.kernel.seconds - before, 3), "calls": process.calls})
        )
        queue.run(60, until=lambda: bool(ended))
        return ended[0]
    finally:
        queue.close()


def lateness_p99(shards: int, *, jobs: int = 200) -> float:
    """Jobs that are scheduled ahead, each at a time of its own, with the tick, the stream and a waiting poller."""
    queue = _queue(shards)
    try:
        queue.begin()
        start = queue.queue.services.clock.now()
        due: dict[str, float] = {}

        def enqueue(process: Any) -> None:
            for number in range(jobs):
                at = start + timedelta(seconds=30 + number * 0.31)
                label = f"job-{number}"
                due[label] = (at - start).total_seconds()
                process.queue.enqueue(_TYPE, {"seconds": 0.0, "label": label}, run_at=at)

        began = queue.kernel.seconds
        queue.after(1.0, enqueue)
        queue.run(200, until=lambda: len(queue.figures.starts) >= jobs)
        late = sorted(each.at - began - due[each.label] for each in queue.figures.starts)
        assert len(late) == jobs, f"{len(late)} of {jobs} were started"
        return round(late[int(len(late) * 0.99)], 3)
    finally:
        queue.close()


def backpressure(*, jobs: int = 1000, can_run: int = 10, seconds: float = 2.0) -> dict[str, float]:
    """Everything is due at once where few can run, and no limit is configured."""
    queue = VirtualQueue([JobType(name=_TYPE, timeout=timedelta(seconds=30))], latencies=AWS, can_run=can_run)
    try:
        queue.queue.enqueue_many(works(jobs, _TYPE, seconds=seconds))
        queue.begin()
        ideal = jobs * seconds / can_run
        queue.run(ideal * 4, until=lambda: len(queue.figures.ended) >= jobs)
        return {
            "handovers_per_job": round(len(queue.figures.dispatched) / jobs, 3),
            "most_unstarted": queue.figures.most_unstarted,
            "ended": len(queue.figures.ended),
            "times_ideal": round(queue.kernel.seconds / ideal, 3),
        }
    finally:
        queue.close()


def _queue(shards: int) -> VirtualQueue:
    return VirtualQueue([JobType(name=_TYPE)], latencies=AWS_WITH_CPU, shards=shards)


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(eval(sys.argv[1]), indent=2))


def settle_seconds(jobs: int = 500) -> dict[str, float]:
    """So many jobs of a shard have just ended: until a delivery is made of each, or until their group has ended."""
    return {"webhooks": _settled_after(jobs, in_group=False), "group": _settled_after(jobs, in_group=True)}


def _settled_after(jobs: int, *, in_group: bool) -> float:
    queue = VirtualQueue([JobType(name=_TYPE), delivery_type()], latencies=AWS_WITH_CPU)
    try:
        made, services = works(jobs, _TYPE, seconds=0.0), queue.queue.services
        if in_group:
            queue.queue.groups.create(made, group_id="import", mode="parallel")
        else:
            queue.queue.enqueue_many([replace(each, webhook="https://example.com/hook") for each in made])
        taken = _Taken()
        Poller(services, taken, worker_id="setup").poll()
        for handover in taken.handovers:
            Worker(services, {_TYPE: _Nothing}, worker_id="setup", limit_time=False).run(handover)
        queue.let_settle()
        queue.kernel.micros += SECOND
        began = queue.kernel.seconds
        queue.poll_once(lambda _: None)
        queue.run(300, until=lambda: len(queue.figures.settled) >= jobs)
        assert len(queue.figures.settled) == jobs
        return round(max(queue.figures.settled) - began, 3)
    finally:
        queue.close()


class _Taken:
    def __init__(self) -> None:
        self.handovers: list[Handover] = []

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self.handovers.append(handover)


class _Nothing(BaseJobHandler[Work]):
    def handle(self, payload: Work) -> None:
        return
