"""What the figures must not exceed, or reach at least, and the table that says whether they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Bound:
    """`figure` leads to a number through the results, key by key, beginning with the benchmark's name."""

    what: str
    figure: tuple[str, ...]
    limit: float
    unit: str = ""
    is_least: bool = False

    @property
    def written(self) -> str:
        return f"{'>=' if self.is_least else '<='} {self.limit:g} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Verdict:
    """A figure beside its bound; no figure means that it was not measured, which is not good enough either."""

    bound: Bound
    value: float | None

    @property
    def is_met(self) -> bool:
        if self.value is None:
            return False
        return self.value >= self.bound.limit if self.bound.is_least else self.value <= self.bound.limit

    def as_record(self) -> dict[str, object]:
        return {
            "what": self.bound.what,
            "value": self.value,
            "at_least" if self.bound.is_least else "at_most": self.bound.limit,
            "unit": self.bound.unit,
            "met": self.is_met,
        }


UNITS = "write units"
TIMES = "x"
PLAIN = "plain, one at a time"
AWS = "aws_latency"
BOUNDS: tuple[Bound, ...] = (
    Bound(
        "a plain job, with the ended index",
        ("lives", PLAIN, "0.2 KB typical", "write_units"),
        9,
        UNITS,
    ),
    Bound("with 16 KB of typical JSON", ("lives", PLAIN, "16 KB typical", "write_units"), 12, UNITS),
    Bound("with 16 KB that do not compress at all", ("lives", PLAIN, "16 KB incompressible", "write_units"), 28, UNITS),
    Bound(
        "without the ended index",
        ("lives", "plain, one at a time, without the ended index", "0.2 KB typical", "write_units"),
        8,
        UNITS,
    ),
    Bound("a poll, from 0 to 100,000 finished jobs", ("polls", "highest_to_lowest"), 1.1, TIMES),
    Bound("CPU of a job, to the floor, median of ratios", ("cpu", "cpu_ratio"), 1.15, TIMES),
    Bound("import of the poller, to botocore", ("imports", "poller"), 1.25, TIMES),
    Bound("import of a handler, to botocore", ("imports", "slowest_handler"), 1.5, TIMES),
    Bound("lateness of warm functions, 99th percentile", ("lateness", "p99_seconds"), 1, "s"),
    Bound("a burst of 1,000 jobs, to the floor", ("burst", "ratio"), 1.5, TIMES),
    Bound(
        "sent and handled in batches, to Celery's tasks a second",
        ("celery", "batches_to_celery"),
        1,
        TIMES,
        is_least=True,
    ),
    *(
        Bound(f"hand-overs with {shards} shards, virtual", (AWS, "handovers_per_second", str(shards)), rate, "/s", True)
        for shards, rate in ((1, 200), (4, 600), (16, 1600))
    ),
    Bound("CPU of a hand-over", (AWS, "real", "handovers", "cpu_ms"), 1.6, "ms"),
    Bound("hand-overs with 0.29 of a core", (AWS, "real", "handovers", "at_0_29_of_a_core"), 150, "/s", True),
    *(
        Bound(f"a poll of one job, {shards} shards, virtual", (AWS, "poll_one_job_seconds", str(shards)), limit, "s")
        for shards, limit in ((1, 0.15), (16, 0.4), (64, 1.0))
    ),
    # What is switched off, and each of its four lanes.
    Bound("calls of an idle poll, one shard", (AWS, "idle_poll_calls"), 5),
    Bound("10,000 jobs in bulk, wall to CPU", (AWS, "bulk_enqueue_seconds", "ratio"), 1.5, TIMES),
    *(
        Bound(f"lateness, 99th percentile, {shards} shards, virtual", (AWS, "lateness_p99_seconds", shards), 0.6, "s")
        for shards in ("1", "16")
    ),
    Bound("requests of a job in a batch of ten", (AWS, "batch_requests_per_job"), 1.6),
    Bound("hand-overs a job where 10 can run, virtual", (AWS, "backpressure", "handovers_per_job"), 1.3),
    Bound("most that are claimed and unstarted, virtual", (AWS, "backpressure", "most_unstarted"), 50),
    Bound("1,000 jobs where 10 can run, to the ideal, virtual", (AWS, "backpressure", "times_ideal"), 1.2, TIMES),
    *(
        Bound(f"500 ended jobs are settled, {owing}, virtual", (AWS, "settle_seconds", figure), limit, "s")
        for owing, figure, limit in (("each with a webhook", "webhooks", 5), ("members of a group", "group", 2))
    ),
    Bound("log bytes of a plain job", (AWS, "real", "log_bytes_per_job"), 900),
    Bound("an idle month", (AWS, "dollars", "idle_month"), 3, "$"),
    Bound("a further job type, a month", (AWS, "dollars", "further_type"), 0.3, "$"),
    Bound("of a second's timeout, at 0.07 of a core", (AWS, "real", "second_at_128_mb", "seconds"), 0.9, "s", True),
)


def judge(
    results: Mapping[str, Any], bounds: Sequence[Bound] = BOUNDS, *, only: Iterable[str] | None = None
) -> list[Verdict]:
    """A verdict for each bound; `only` leaves out those of benchmarks that nobody asked for."""
    asked = None if only is None else set(only)
    return [Verdict(bound, _figure(results, bound)) for bound in bounds if asked is None or bound.figure[0] in asked]


def table(verdicts: Sequence[Verdict]) -> str:
    rows = [("figure", "measured", "bound", "")]
    for verdict in verdicts:
        value = "not measured" if verdict.value is None else f"{verdict.value:.4g} {verdict.bound.unit}"
        rows.append((verdict.bound.what, value, verdict.bound.written, "met" if verdict.is_met else "NOT MET"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _figure(results: Mapping[str, Any], bound: Bound) -> float | None:
    found: Any = results
    for key in bound.figure:
        found = found.get(key) if isinstance(found, dict) else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None
