"""Punctuality of the deployed stacks: start minus due of scheduled jobs, a burst, and what they leave in the logs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from leasehold.kernel.transitions import JobStatus
from leasehold.local.aws.inspection import log_lines
from tests.benchmarks.deployed import deployed_stack
from tests.local_stack import PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.aws.job_logs import LogLine
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from tests.benchmarks.sizes import Sizes
    from tests.local_stack import LocalStack

_TYPE = "daily_summary"
_AHEAD = timedelta(seconds=10)
# The rate at which scheduled jobs fall due: steady, not a burst.
_A_SECOND = 10


def measure(sizes: Sizes) -> dict[str, Any]:
    # Larger and larger: a hundred at once on cold functions would start a hundred processes on two cores.
    warm_ups = [5, 10, 20, sizes.deployed_burst // 2, sizes.deployed_burst]
    with deployed_stack() as stack:
        for count in warm_ups:
            _all_completed(stack, _enqueue(stack, count))
        began_at = datetime.now(UTC)
        burst = _all_completed(stack, _enqueue(stack, sizes.deployed_burst))
        seconds = max(job.completed_at for job in burst if job.completed_at) - began_at
        since = int(datetime.now(UTC).timestamp() * 1000)
        first = datetime.now(UTC) + _AHEAD
        due = _enqueue(stack, sizes.scheduled, lambda number: first + timedelta(seconds=number / _A_SECOND))
        late = sorted(
            (job.runs[0].started_at - job.scheduled_for).total_seconds() for job in _all_completed(stack, due)
        )
        logs = _logs(list(log_lines(stack.running, after_millis=since)), sizes.scheduled)
    return {
        "jobs": sizes.scheduled,
        "jobs_a_second": _A_SECOND,
        "p50_seconds": round(percentile(late, 50), 3),
        "p99_seconds": round(percentile(late, 99), 3),
        "highest_seconds": round(late[-1], 3),
        "warm_up_bursts": warm_ups,
        "burst": {"jobs": sizes.deployed_burst, "seconds": round(seconds.total_seconds(), 3)},
        "logs": logs,
    }


def headline(figures: dict[str, Any]) -> str:
    return f"start minus due: median {figures['p50_seconds']:g} s, 99th percentile {figures['p99_seconds']:g} s"


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The nearest rank: a figure that was measured, never one in between.

    >>> percentile([1, 2, 3, 4], 50), percentile(list(range(1, 201)), 99)
    (2, 198)
    """
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, int(rank) - 1)]


def _enqueue(stack: LocalStack, count: int, run_at: Callable[[int], datetime | None] = lambda _: None) -> list[JobId]:
    """One by one, by as many callers as a web server has threads: this stream does not show bulk inserts."""

    def one(number: int) -> JobId:
        return stack.queue.enqueue(_TYPE, {"user_id": f"u{number}"}, run_at=run_at(number)).job_id

    with ThreadPoolExecutor(max_workers=8) as callers:
        return list(callers.map(one, range(count)))


def _all_completed(stack: LocalStack, job_ids: Sequence[JobId]) -> list[Job]:
    def look() -> list[Job]:
        jobs = list(stack.queue.services.store.jobs.get_many(job_ids).values())
        return jobs if all(job.has_ended for job in jobs) else []

    jobs = eventually(look, within=PATIENCE, every=0.5)
    states = {str(job.status) for job in jobs}
    if len(jobs) != len(job_ids) or states != {JobStatus.COMPLETED}:
        raise AssertionError(f"{len(jobs)} of {len(job_ids)} jobs ended within {PATIENCE}, as {sorted(states)}")
    return jobs


def _logs(lines: Sequence[LogLine], jobs: int) -> dict[str, Any]:
    """What Leasehold's own lines weigh; Lambda's START, END and REPORT, which every function has, are not JSON."""
    own = [line for line in lines if line.text.startswith("{")]
    by_function: dict[str, int] = {}
    for line in own:
        by_function[line.function] = by_function.get(line.function, 0) + len(line.text.encode()) + 1
    return {
        "bytes_per_job": round(sum(by_function.values()) / jobs),
        "bytes_per_job_by_function": {name: round(size / jobs) for name, size in sorted(by_function.items())},
    }
