"""Run the benchmarks: `make bench`, or one of them, `python -m tests.benchmarks --only lives`.

A whole run writes results/latest.json and a chart per benchmark; exit 1 if a figure misses its bound. One of them with
`--keep` replaces its own figures there, and the file says when.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

from tests.benchmarks.bounds import judge, table
from tests.benchmarks.catalogue import CATALOGUE, NAMES
from tests.benchmarks.results import FOLDER, keep, keep_anew
from tests.benchmarks.sizes import SMALL, WHOLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.benchmarks.catalogue import Benchmark
    from tests.benchmarks.sizes import Sizes


def main(arguments: Sequence[str] | None = None, catalogue: Sequence[Benchmark] = CATALOGUE) -> int:
    options = _options(arguments)
    chosen = [each for each in catalogue if options.only in (None, each.name)]
    began = time.monotonic()
    results = run(chosen, SMALL if options.small else WHOLE)
    seconds = time.monotonic() - began
    print(f"all of it took {seconds / 60:.1f} minutes")
    verdicts = judge(results, only=[each.name for each in chosen])
    print(f"\n{table(verdicts)}" if verdicts else "\nno bound is set for this one")
    if options.only is None and not options.small:
        keep(results, verdicts, WHOLE, seconds=seconds)
        print(f"\nwrote {FOLDER}; next: make docs, and commit both")
    elif options.keep and not any("error" in each for each in results.values()):
        keep_anew(results)
        print(f"\nwrote {FOLDER}; next: make docs, and commit both")
    else:
        print(json.dumps(results, indent=2, sort_keys=True))
        print("\nshown, not kept: only a whole run (`make bench`) or `--keep` writes results")
    missed = [verdict for verdict in verdicts if not verdict.is_met]
    if missed:
        print(f"\n{len(missed)} of {len(verdicts)} bounds are not met", file=sys.stderr)
    return 1 if missed or any("error" in each for each in results.values()) else 0


def run(chosen: Sequence[Benchmark], sizes: Sizes) -> dict[str, Any]:
    """The figures of each; one that fails says so in their place, and the others go on."""
    results: dict[str, Any] = {}
    for number, benchmark in enumerate(chosen, start=1):
        print(f"[{number}/{len(chosen)}] {benchmark.name}: {benchmark.what} ...", flush=True)
        began = time.monotonic()
        try:
            figures = benchmark.measure(sizes)
            said = benchmark.headline(figures)
        except Exception as error:
            traceback.print_exc()
            figures, said = {"error": f"{type(error).__name__}: {error}"}, f"FAILED, {type(error).__name__}: {error}"
        results[benchmark.name] = figures
        print(f"      {said} ({time.monotonic() - began:.0f} s)", flush=True)
    return results


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Leasehold's benchmarks")
    parser.add_argument("--only", choices=NAMES, help="run one of them, and show its figures instead of keeping them")
    parser.add_argument("--small", action="store_true", help="do little of each, to see that it works")
    parser.add_argument("--keep", action="store_true", help="with --only: keep its figures beside the last whole run's")
    options = parser.parse_args(arguments)
    if options.keep and (options.only is None or options.small):
        parser.error("--keep goes with --only, and not with --small")
    return options


if __name__ == "__main__":
    # No benchmark can reach a real account.
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    sys.exit(main())
