"""A workload timed against its floor, in alternating rounds, each on tables of its own."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

from tests.benchmarks.engines import bare_client_of, client_of, dynoxide
from tests.benchmarks.replay import Floor, Recording
from tests.benchmarks.workload import PHASES, Workload, telemetry_to_nowhere

if TYPE_CHECKING:
    from collections.abc import Sequence

# How many callers and handlers are at work beside each other in a burst.
THREADS = 8


def compare(*, jobs: int, rounds: int, threads: int) -> dict[str, Any]:
    """Median seconds of the phases; ours and the floor take turns in going first.

    Each round has engines of its own, so that the floor makes the calls word for word on tables that it has never seen.
    """
    ours: list[dict[str, float]] = []
    floors: list[dict[str, float]] = []
    # Of a first, small round, which warms up and does not count, and of all others.
    few, recording = _recorded(max(1, jobs // 10)), _recorded(jobs)
    with telemetry_to_nowhere() as telemetry:
        for number in range(rounds + 1):
            calls = recording if number else few
            with dynoxide() as of_ours, dynoxide() as of_the_floor:
                floor = Floor(bare_client_of(of_the_floor), calls)
                workload = Workload(client_of(of_ours), "ours", calls.jobs, telemetry)
                sides: list[tuple[list[dict[str, float]], Workload | Floor]] = [(ours, workload), (floors, floor)]
                for taken, side in sides if number % 2 else reversed(sides):
                    taken.append(_timed(side, threads))
    return _figures(ours[1:], floors[1:], jobs=jobs, requests=recording.requests, threads=threads)


def _recorded(jobs: int) -> Recording:
    with dynoxide() as endpoint:
        return Recording(client_of(endpoint), "recorded", jobs)


def _timed(side: Workload | Floor, threads: int) -> dict[str, float]:
    seconds = {}
    for phase in PHASES:
        began = time.perf_counter()
        side.run(phase, threads=1 if phase == "poll" else threads)
        seconds[phase] = time.perf_counter() - began
    return seconds


def _figures(
    ours: Sequence[dict[str, float]], floors: Sequence[dict[str, float]], *, jobs: int, requests: int, threads: int
) -> dict[str, Any]:
    our_total, floor_total = (statistics.median(sum(each.values()) for each in side) for side in (ours, floors))
    return {
        "jobs": jobs,
        "rounds": len(ours),
        "threads": threads,
        "requests_per_job": round(requests / jobs, 3),
        "seconds": round(our_total, 4),
        "floor_seconds": round(floor_total, 4),
        "jobs_per_second": round(jobs / our_total, 1),
        "floor_jobs_per_second": round(jobs / floor_total, 1),
        "ratio": round(our_total / floor_total, 3),
        "phase_ratios": {
            phase: round(
                statistics.median(each[phase] for each in ours) / statistics.median(each[phase] for each in floors), 3
            )
            for phase in PHASES
        },
    }
