"""Client CPU per job against a floor: the very same requests, sent by a bare botocore client in a loop.

A whole plain life is measured, with logs and metrics as deployed, and once more without them.
"""

from __future__ import annotations

import time
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from tests.benchmarks.engines import bare_client_of, client_of, dynoxide
from tests.benchmarks.replay import Floor, Recording
from tests.benchmarks.workload import PHASES, Workload, telemetry_to_nowhere

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.aws.telemetry import PowertoolsTelemetry
    from tests.benchmarks.sizes import Sizes

# Rounds are short, and many: what else the machine does slows both sides of a round, and spoils few of them.
JOBS_PER_ROUND = 50


def measure(sizes: Sizes) -> dict[str, Any]:
    """CPU milliseconds and wall time per job, ours and the floor's, as medians of rounds that take turns.

    A ratio is the median of the rounds' own ratios, which is not the ratio of the medians.
    """
    rounds = 3 * sizes.rounds
    with dynoxide() as endpoint:
        recording = Recording(client_of(endpoint), "recorded", JOBS_PER_ROUND)
    with dynoxide() as of_ours, dynoxide() as of_the_floor, telemetry_to_nowhere() as telemetry:
        # Made once, like a container's own.
        ours, floor = client_of(of_ours), bare_client_of(of_the_floor)
        # The first one also pays for connections and imports.
        taken = [_round(ours, floor, recording, telemetry, number) for number in range(rounds + 1)][1:]
    figures = {name: [each[name] for each in taken] for name in taken[0]}
    ratios = [mine / least for mine, least in zip(figures["cpu_ms"], figures["floor_cpu_ms"], strict=True)]
    lower, _, upper = quantiles(ratios, n=4)
    rounded = {
        **{name: median(values) for name, values in figures.items()},
        "cpu_ratio": median(ratios),
        "cpu_ratio_lower_quartile": lower,
        "cpu_ratio_upper_quartile": upper,
        "cpu_ratio_without_telemetry": _median_ratio(figures, "silent_cpu_ms", "floor_cpu_ms"),
        "wall_ratio": _median_ratio(figures, "wall_ms", "floor_wall_ms"),
    }
    return {"rounds": rounds, "jobs": JOBS_PER_ROUND, **{name: round(value, 3) for name, value in rounded.items()}}


def headline(figures: dict[str, Any]) -> str:
    ours, floor = figures["cpu_ms"], figures["floor_cpu_ms"]
    return f"{ours:.3g} ms of CPU a job, the raw calls alone {floor:.3g} ms: {figures['cpu_ratio']:.3g} times"


def _round(
    ours: DynamoDBClient, floor: DynamoDBClient, recording: Recording, telemetry: PowertoolsTelemetry, number: int
) -> dict[str, float]:
    jobs = recording.jobs
    sides: dict[str, Workload | Floor] = {
        "floor_": Floor(floor, recording),
        "": Workload(ours, f"loud-{number}", jobs, telemetry),
        "silent_": Workload(ours, f"silent-{number}", jobs),
    }
    figures = {"requests": recording.requests / jobs}
    for side in sides if number % 2 else reversed(sides):
        cpu, wall = _timed(sides[side])
        figures |= {f"{side}cpu_ms": cpu / jobs, f"{side}wall_ms": wall / jobs}
    # The same calls have the same effect in the next round only on tables that have not seen them.
    for table in floor.list_tables()["TableNames"]:
        floor.delete_table(TableName=table)
    return figures


def _timed(side: Workload | Floor) -> tuple[float, float]:
    """Milliseconds of this process's CPU, and of time."""
    cpu, wall = time.process_time(), time.perf_counter()
    for phase in PHASES:
        side.run(phase)
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


def _median_ratio(figures: Mapping[str, list[float]], ours: str, floor: str) -> float:
    return median(mine / least for mine, least in zip(figures[ours], figures[floor], strict=True))
