"""Write the parts of docs/reliability.md that follow from the last runs of simulation, model and benchmarks.

    .venv/bin/python docs/generate_reliability.py

A test compares the page with what this makes, so that the figures cannot drift from the runs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Started as a file, Python knows this folder and not the one that the results are in.
    sys.path.insert(0, str(Path(__file__).parent.parent))

from docs.costing.measured_page import parts as measured_parts
from docs.generate_cost import filled
from tests.benchmarks import results

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reliability.md"
SIMULATED = ROOT / "tests" / "simulation" / "results" / "coverage.json"
MODELLED = ROOT / "tests" / "model" / "results.json"


def page() -> str:
    """The page as it should be."""
    parts = {
        "simulation": _simulation(json.loads(SIMULATED.read_text())),
        "model": _model(json.loads(MODELLED.read_text())),
        "bounds": measured_parts(results.load())["bounds"],
    }
    return filled(PAGE.read_text(), parts, PAGE.name)


def _simulation(run: dict[str, Any]) -> str:
    """What the last run of many seeds met, fault by fault."""
    hits: dict[str, int] = {}
    for cell, count in run["cells"].items():
        fault = cell.split(" / ")[0]
        hits[fault] = hits.get(fault, 0) + count
    broken = len(run["failures"])
    lines = [
        f"The last run: {run['seeds']:,} seeds, {sum(run['calls'].values()):,} calls, {sum(hits.values()):,} faults; "
        f"{'no seed' if not broken else f'**{broken} seeds**'} broke an invariant. Of the pairs of a fault and a call "
        f"that can meet, {'none was' if not run['missed'] else f'**{len(run["missed"])} were**'} left out.",
        "",
        "| fault | met |",
        "| --- | --- |",
        *(f"| {fault.replace('_', ' ')} | {count:,} |" for fault, count in sorted(hits.items())),
    ]
    return "\n".join(lines)


def _model(run: dict[str, Any]) -> str:
    lines = ["| search | states | transitions | depth |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {name} | {figures['states']:,} | {figures['transitions']:,} | {figures['depth']} |"
        for name, figures in run["runs"].items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}")
