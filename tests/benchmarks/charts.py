"""Which figures are drawn, and how. A benchmark that failed has no chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.benchmarks.bar_chart import BarChart
from tests.benchmarks.payloads import SIZES, TYPICAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

type Figures = dict[str, Any]


def charts(results: Mapping[str, Figures]) -> dict[str, BarChart]:
    """By the name of the file that each goes to."""
    return {
        name: draw(results[benchmark])
        for name, (benchmark, draw) in _CHARTS.items()
        if benchmark in results and "error" not in results[benchmark]
    }


def write_units(lives: Figures) -> BarChart:
    kinds = kinds_by_cost(lives)
    return BarChart(
        title="Write units of a job's life, by payload (typical JSON)",
        across="payload",
        up="write units per job",
        labels=list(SIZES),
        series={kind: [lives[kind][f"{size} {TYPICAL}"]["write_units"] for size in SIZES] for kind in kinds},
    )


def kinds_by_cost(lives: Figures) -> list[str]:
    """The kinds of jobs, the cheapest first."""
    kinds = [name for name, each in lives.items() if isinstance(each, dict) and "one at a time" not in name]
    return sorted(kinds, key=lambda name: (lives[name][f"0.2 KB {TYPICAL}"]["write_units"], name))


def incompressible(lives: Figures) -> BarChart:
    plain = lives["plain, one at a time, without the ended index"]
    shapes = {"typical JSON": TYPICAL, "incompressible": "incompressible"}
    return BarChart(
        title="Write units of a plain job without the ended index, if its payload compresses and if it does not",
        across="payload",
        up="write units per job",
        labels=list(SIZES),
        series={name: [plain[f"{size} {shape}"]["write_units"] for size in SIZES] for name, shape in shapes.items()},
        bounds={"16 KB typical: at most 12": 12, "16 KB incompressible: at most 28": 28},
    )


def poll_cost(polls: Figures) -> BarChart:
    tables = polls["tables"]
    return BarChart(
        title="What a poll reads beside finished jobs",
        across="finished jobs in the table",
        up="read units per poll",
        labels=[f"{int(name):,}" for name in tables],
        series={
            "nothing is due": [each["idle"]["read_units"] for each in tables.values()],
            "one job is due": [each["claiming"]["read_units"] for each in tables.values()],
        },
    )


def lateness(figures: Figures) -> BarChart:
    return BarChart(
        title=f"Start minus due of {figures['jobs']} scheduled jobs on the deployed stacks, warm",
        across="share of the jobs that were at most so late",
        up="seconds",
        labels=["half of them", "99 of 100", "all"],
        series={"late": [figures[f"{name}_seconds"] for name in ("p50", "p99", "highest")]},
        bounds={"99th percentile: at most 1 s": 1},
    )


def import_times(figures: Figures) -> BarChart:
    others = {name: ratio for name, ratio in figures["functions"].items() if not name.startswith("jobs/")}
    shown = {
        "bare client": 1,
        "poller": others.pop("poller"),
        "slowest handler": figures["slowest_handler"],
        "slowest of the others": max(others.values()),
    }
    return BarChart(
        title=f"Imports until the first call, to a bare botocore client's {figures['bare_client_ms']:.0f} ms of CPU",
        across="function",
        up="times the bare client",
        labels=list(shown),
        series={"import": list(shown.values())},
        bounds={"the poller: at most 1.25": 1.25, "a handler: at most 1.8": 1.8},
    )


def cpu_time(figures: Figures) -> BarChart:
    return BarChart(
        title="Client CPU of a plain job's whole life",
        across=f"medians: lower is better; the median of the rounds' ratios to the floor is {figures['cpu_ratio']:g}",
        up="milliseconds of CPU per job",
        labels=["Leasehold, with logs and metrics", "without", "the same calls, bare botocore"],
        series={"CPU": [figures["cpu_ms"], figures["silent_cpu_ms"], figures["floor_cpu_ms"]]},
        bounds={"1.3 times the floor": round(1.3 * figures["floor_cpu_ms"], 3)},
    )


def _against_floor(title: str) -> Callable[[Figures], BarChart]:
    def draw(figures: Figures) -> BarChart:
        return BarChart(
            title=f"{title}: {figures['jobs']} jobs, {figures['threads']} at a time",
            across="higher is better",
            up="jobs per second",
            labels=["Leasehold", "the same calls, bare botocore"],
            series={"rate": [figures["jobs_per_second"], figures["floor_jobs_per_second"]]},
        )

    return draw


def beside_celery(figures: Figures) -> BarChart:
    sides = ("leasehold", "celery")
    return BarChart(
        title=f"{figures['tasks']} tasks, {figures['threads']} threads, one local AWS",
        across="tasks a second: higher is better; requests: lower is better",
        up="figure",
        labels=["tasks a second", "requests per task"],
        series={
            name: [figures[side]["tasks_per_second"], figures[side]["requests_per_task"]]
            for name, side in zip(("Leasehold on DynamoDB", "Celery on SQS"), sides, strict=True)
        },
    )


_CHARTS: Mapping[str, tuple[str, Callable[[Figures], BarChart]]] = {
    "write-units": ("lives", write_units),
    "payloads": ("lives", incompressible),
    "poll-cost": ("polls", poll_cost),
    "imports": ("imports", import_times),
    "cpu": ("cpu", cpu_time),
    "throughput": ("throughput", _against_floor("One process against its floor")),
    "burst": ("burst", _against_floor("A burst against its floor")),
    "lateness": ("lateness", lateness),
    "celery": ("celery", beside_celery),
}
