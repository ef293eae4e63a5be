"""Speed where calls take time: hand-overs, one job, lateness and back-pressure in virtual time.

With the latencies of AWS and the CPU of deployed functions: tests/latency.py.

What is virtual is exact and the same on every machine; the real figures beside it are of this one.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from leasehold.kernel.job_type import JobType
from tests.latency import AWS, AWS_WITH_CPU
from tests.limits.virtual_queue import VirtualQueue, works
from tests.simulation.kernel import SECOND

_TYPE = "plain"
_PROFILE = "tests/latency.py: AWS_WITH_CPU, pollers of 512 MB, virtual time"


def measure_virtual(*, shards: tuple[int, ...] = (1, 4, 16), jobs_per_shard: int = 250) -> dict[str, Any]:
    """All that needs no real time."""
    return {
        "profile": _PROFILE,
        "handovers_per_second": {str(each): handovers_per_second(each, jobs_per_shard * each) for each in shards},
        "poll_one_job_seconds": {str(each): poll_one_job(each)["seconds"] for each in (1, 16, 64)},
        "poll_one_job_calls": {str(each): poll_one_job(each)["calls"] for each in (1, 16, 64)},
        "idle_poll_calls": poll_one_job(1, jobs=0)["calls"],
        "lateness_p99_seconds": {str(each): lateness_p99(each) for each in (1, 16)},
        "backpressure": backpressure(),
    }


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

    print(json.dumps(measure_virtual() if len(sys.argv) < 2 else eval(sys.argv[1]), indent=2))
