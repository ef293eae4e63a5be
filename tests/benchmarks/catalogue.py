"""Every benchmark by its name, in the order in which a whole run goes through them: cheap and exact ones first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.benchmarks import aws_latency, burst, celery, cpu, imports, lateness, lives, polls, throughput

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.sizes import Sizes


@dataclass(frozen=True, slots=True)
class Benchmark:
    """`measure` returns figures that JSON can hold; `headline` says the one that matters most."""

    name: str
    what: str
    measure: Callable[[Sizes], dict[str, Any]]
    headline: Callable[[dict[str, Any]], str]


def _rounded(figures: dict[str, float]) -> dict[str, Any]:
    return {name: round(value, 3) for name, value in figures.items()}


def _imports(sizes: Sizes) -> dict[str, Any]:
    ratios = _rounded(imports.measure(sizes.import_rounds))
    bare = ratios.pop("bare_client_ms")
    # Of handlers the slowest counts: every job type's own waits for it.
    handlers = [ratio for name, ratio in ratios.items() if name.startswith("jobs/")]
    return {"bare_client_ms": bare, "functions": ratios, "poller": ratios["poller"], "slowest_handler": max(handlers)}


def _imports_headline(figures: dict[str, Any]) -> str:
    bare, poller, handler = (figures[name] for name in ("bare_client_ms", "poller", "slowest_handler"))
    return (
        f"a bare client {bare:.0f} ms of CPU, the poller {poller:.3g} times that, a handler at most {handler:.3g} times"
    )


CATALOGUE: tuple[Benchmark, ...] = (
    Benchmark("lives", "units, requests and CPU of a job's life", lives.measure, lives.headline),
    Benchmark("polls", "a poll beside more and more finished jobs", polls.measure, polls.headline),
    Benchmark("imports", "imports, which are cold starts", _imports, _imports_headline),
    Benchmark("cpu", "CPU of a job against raw calls", cpu.measure, cpu.headline),
    Benchmark("aws_latency", "speed where calls take time", aws_latency.measure, aws_latency.headline),
    Benchmark("throughput", "one process against raw calls", throughput.measure, throughput.headline),
    Benchmark("burst", "a burst of 1,000 jobs against raw calls", burst.measure, burst.headline),
    Benchmark("lateness", "punctuality of the deployed stacks", lateness.measure, lateness.headline),
    Benchmark("celery", "Celery on SQS beside Leasehold", celery.measure, celery.headline),
)
NAMES = tuple(benchmark.name for benchmark in CATALOGUE)
