"""Run the simulation: `python -m tests.simulation --seeds 20000`, or one seed again with `--seed 123`."""

from __future__ import annotations

import argparse
import os
import sys

from tests.simulation.many import replay, simulate_many, told, unlike
from tests.simulation.report import missed_cells, table, write_json
from tests.simulation.simulation import simulate

# Fewer seeds are not expected to meet everything, and their figures are not kept.
_ENOUGH = 20_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--seeds", type=_positive, default=_ENOUGH, help="how many seeds (default 20000)")
    parser.add_argument("--start", type=_whole, default=0, help="the first of them")
    parser.add_argument("--seed", type=_whole, help="replay this one and print its whole trace")
    parser.add_argument("--twice", type=_positive, help="run so many seeds twice, and compare their traces")
    parser.add_argument("--jobs", type=_positive, default=min(2, os.cpu_count() or 1), help="processes")
    options = parser.parse_args()
    if options.seed is not None:
        return _replay(options.seed)
    if options.twice is not None:
        return _twice(options.start, options.twice, options.jobs)
    return _many(options.start, options.seeds, options.jobs)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def _positive(text: str) -> int:
    if _whole(text) == 0:
        raise argparse.ArgumentTypeError("there must be at least 1")
    return int(text)


def _replay(seed: int) -> int:
    outcome = simulate(seed)
    print("\n".join(outcome.lines))
    if outcome.violation is None:
        print(f"\nseed {seed} holds: {outcome.calls} calls, at rest {outcome.rested_after:.0f} s after the last fault")
        return 0
    print("\n" + told(outcome))
    return 1


def _twice(start: int, count: int, jobs: int) -> int:
    differing = unlike(start, count, jobs)
    if differing:
        print(f"seeds whose second trace differs: {', '.join(map(str, differing))}")
        return 1
    print(f"{count} seeds gave the same trace twice, byte for byte")
    return 0


def _many(start: int, count: int, jobs: int) -> int:
    coverage, failed, longest = simulate_many(start, count, jobs)
    print(table(coverage))
    print(
        f"\n{count} seeds, {coverage.calls.total()} calls; the slowest was at rest {longest:.0f} s after its last fault"
    )
    missed = missed_cells(coverage)
    print(f"never hit: {', '.join(missed) or 'nothing of what can be hit'}")
    is_whole = start == 0 and count >= _ENOUGH
    if is_whole:
        print(f"all figures: {write_json(coverage, count, failed)}; for the pages: make docs")
    if failed:
        print("\n" + told(simulate(failed[0])))
        print(f"broken seeds: {', '.join(map(str, failed[:20]))}; next: {replay(failed[0])}")
        return 1
    if missed and is_whole:
        print("next: what was never hit is not tested; see tests/simulation/reachable.py and plan.py")
        return 1
    print("every invariant held in every seed; next: make simulate-teeth")
    return 0


if __name__ == "__main__":
    sys.exit(main())
