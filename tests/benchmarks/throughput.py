"""Throughput of one process, one job after the other, against the same raw calls in a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.benchmarks.against_floor import compare

if TYPE_CHECKING:
    from tests.benchmarks.sizes import Sizes


def measure(sizes: Sizes) -> dict[str, Any]:
    return compare(jobs=sizes.jobs_of_a_round, rounds=sizes.rounds, threads=1)


def headline(figures: dict[str, Any]) -> str:
    ours, floor = figures["jobs_per_second"], figures["floor_jobs_per_second"]
    return f"{ours:g} jobs a second, {floor:g} of the raw calls alone: {figures['ratio']:g} times the floor's time"
