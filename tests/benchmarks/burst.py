"""A burst: a thousand jobs enqueued by eight callers, polled, and handled eight at a time, against its floor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.benchmarks.against_floor import THREADS, compare

if TYPE_CHECKING:
    from tests.benchmarks.sizes import Sizes


def measure(sizes: Sizes) -> dict[str, Any]:
    return compare(jobs=sizes.burst, rounds=sizes.rounds, threads=THREADS)


def headline(figures: dict[str, Any]) -> str:
    return (
        f"{figures['jobs']} jobs in {figures['seconds']:g} s, the raw calls alone {figures['floor_seconds']:g} s: "
        f"{figures['ratio']:g} times"
    )
