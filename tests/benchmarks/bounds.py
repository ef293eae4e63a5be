"""What the figures must not exceed, and the table that says whether they do."""

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
    at_most: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A figure beside its bound; no figure means that it was not measured, which is not good enough either."""

    bound: Bound
    value: float | None

    @property
    def is_met(self) -> bool:
        return self.value is not None and self.value <= self.bound.at_most

    def as_record(self) -> dict[str, object]:
        return {
            "what": self.bound.what,
            "value": self.value,
            "at_most": self.bound.at_most,
            "unit": self.bound.unit,
            "met": self.is_met,
        }


UNITS = "write units"
TIMES = "x"
PLAIN = "plain, one at a time"
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
    Bound("CPU of a job, to the floor, median of ratios", ("cpu", "cpu_ratio"), 1.3, TIMES),
    Bound("import of the poller, to botocore", ("imports", "poller"), 1.25, TIMES),
    Bound("import of a handler, to botocore", ("imports", "slowest_handler"), 1.8, TIMES),
    Bound("lateness of warm functions, 99th percentile", ("lateness", "p99_seconds"), 1, "s"),
    Bound("a burst of 1,000 jobs, to the floor", ("burst", "ratio"), 1.5, TIMES),
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
        limit = f"<= {verdict.bound.at_most:g} {verdict.bound.unit}"
        rows.append((verdict.bound.what, value, limit, "met" if verdict.is_met else "NOT MET"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _figure(results: Mapping[str, Any], bound: Bound) -> float | None:
    found: Any = results
    for key in bound.figure:
        found = found.get(key) if isinstance(found, dict) else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None
