"""Many seeds on several processes, with a line that shows how far they are."""

from __future__ import annotations

import sys
import time
from concurrent.futures import as_completed
from typing import TYPE_CHECKING

from tests.simulation.coverage import Coverage
from tests.simulation.report import RESULTS
from tests.simulation.simulation import simulate
from tests.simulation.workers import pool

if TYPE_CHECKING:
    from tests.simulation.simulation import Outcome

_CHUNK = 50
_END_OF_TRACE = 40


def simulate_some(start: int, count: int) -> tuple[Coverage, list[int], float]:
    """Some seeds in this process: what was hit, which of them failed, and the longest way to rest."""
    coverage, failed, longest = Coverage(), [], 0.0
    for seed in range(start, start + count):
        outcome = simulate(seed)
        coverage.add(outcome.coverage)
        longest = max(longest, outcome.rested_after)
        if outcome.violation is not None:
            failed.append(seed)
    return coverage, failed, longest


def simulate_many(start: int, count: int, jobs: int) -> tuple[Coverage, list[int], float]:
    coverage, failed, longest, done = Coverage(), [], 0.0, 0
    began = time.monotonic()
    with pool(jobs) as workers:
        chunks = [
            workers.submit(simulate_some, first, min(_CHUNK, start + count - first))
            for first in range(start, start + count, _CHUNK)
        ]
        for chunk in as_completed(chunks):
            some, bad, rest = chunk.result()
            coverage.add(some)
            failed += bad
            longest = max(longest, rest)
            done = min(done + _CHUNK, count)
            _show(done, count, len(failed), time.monotonic() - began)
    print(file=sys.stderr)
    return coverage, sorted(failed), longest


def traces(start: int, count: int) -> list[str]:
    """A digest of every line of each seed's trace."""
    return [simulate(seed).digest for seed in range(start, start + count)]


def unlike(start: int, count: int, jobs: int) -> list[int]:
    """The seeds whose trace is another one when they are run again, beside others and by whichever process is free."""
    with pool(jobs) as workers:
        starts = range(start, start + count, _CHUNK)
        sizes = [min(_CHUNK, start + count - first) for first in starts]
        first, again = ([workers.submit(traces, *each) for each in zip(starts, sizes, strict=True)] for _ in range(2))
        one, other = ([digest for chunk in chunks for digest in chunk.result()] for chunks in (first, again))
    return [seed for seed, (a, b) in enumerate(zip(one, other, strict=True), start) if a != b]


def told(outcome: Outcome) -> str:
    """A seed that broke something: the end of its trace, where the whole is, and how to see it again."""
    path = RESULTS / f"seed-{outcome.seed}.trace"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*outcome.lines, ""]))
    end = "\n".join(outcome.lines[-_END_OF_TRACE:])
    broke = f"seed {outcome.seed} broke: {outcome.violation}"
    return f"{end}\n\n{broke}\nthe whole trace: {path}\nagain: {replay(outcome.seed)}"


def replay(seed: int) -> str:
    return f"make simulate SEED={seed}"


def _show(done: int, count: int, failed: int, seconds: float) -> None:
    left = seconds / done * (count - done)
    print(
        f"\r{done:>7} of {count} seeds, {failed} broke an invariant, {left:.0f} s to go   ",
        end="",
        file=sys.stderr,
        flush=True,
    )
