"""Write the parts of docs/reliability.md that follow from the last runs of simulation, model and benchmarks.

    .venv/bin/python docs/generate_reliability.py        # `make docs` runs this and the others

A test compares the page with what this makes, so that the figures cannot drift from the runs.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Started as a file, Python knows this folder and not the one that it is in.
    sys.path.insert(0, str(Path(__file__).parent.parent))

from docs.costing.measured_page import services as measured_parts
from docs.filling import filled
from tests.benchmarks import results
from tests.simulation.faults import Fault

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reliability.md"
SIMULATED = ROOT / "tests" / "simulation" / "results" / "coverage.json"
MODELLED = ROOT / "tests" / "model" / "results.json"
# Each fault in a few words.
WORDS = {
    Fault.KILL_BEFORE: "the process dies before the call",
    Fault.KILL_AFTER: "the process dies after the call, its answer unread",
    Fault.KILL_LATE: "the process dies while the call is on its way; it arrives later",
    Fault.KILL_ECHO: "the process dies after the call, and a copy that its client had sent arrives later",
    Fault.LOST_REQUEST: "the call does not arrive, and the client repeats it",
    Fault.LOST_RESPONSE: "the call arrives and its answer does not, and the client repeats it",
    Fault.THROTTLE: "refused: too many requests; the client repeats it",
    Fault.SERVER_ERROR: "refused: an internal error; the client repeats it",
    Fault.CONFLICT: "refused: another transaction is at the same item",
    Fault.ECHO: "the process lives and goes on, and a slow copy of its call arrives later",
    Fault.STALL: "the process stands still, at times for longer than its lease, then goes on as before",
    Fault.STALE_INDEX: "a query of an index is answered from the past",
    Fault.INVOKE_REFUSED: "a hand-over is refused, and its sender is told",
    Fault.INVOKE_DROPPED: "a hand-over is accepted and never arrives",
    Fault.INVOKE_TWICE: "a hand-over arrives twice, at different times",
    Fault.INVOKE_LATE: "a hand-over arrives late",
    Fault.RECORD_DROPPED: "a record of a stream never arrives",
    Fault.RECORD_TWICE: "a record of a stream arrives twice",
    Fault.RECORD_LATE: "a record of a stream arrives late, after others",
}


def page() -> str:
    """The page as it should be."""
    services = {
        "simulation": _simulation(json.loads(SIMULATED.read_text())),
        "model": _model(json.loads(MODELLED.read_text())),
        "bounds": measured_parts(results.load())["bounds"],
    }
    return filled(PAGE.read_text(), services, PAGE.name)


def _simulation(run: dict[str, Any]) -> str:
    """What the last run of many seeds met, fault by fault."""
    met: Counter[str] = Counter()
    for cell, count in run["cells"].items():
        met[cell.split(" / ")[0]] += count
    at = f" (commit `{run['commit']}`)" if "commit" in run else ""
    broken = len(run["failures"])
    told = (
        f"The last run{at}: {run['seeds']:,} seeds, {sum(run['calls'].values()):,} calls, {met.total():,} faults; "
        f"{f'**{broken} seeds**' if broken else 'no seed'} broke an invariant. What was hit is counted in "
        f"cells: a fault, at a kind of call, by the state of the job that the call is about. {len(run['cells'])} cells "
        f"were hit; of those that a full run must hit (`tests/simulation/reachable.py`), {_missed(run['missed'])}"
    )
    lines = [
        textwrap.fill(told, 120, break_on_hyphens=False),
        "",
        *(f"- `{cell}`" for cell in run["missed"]),
        *([""] if run["missed"] else []),
        "| fault | what happens | met |",
        "| --- | --- | --- |",
        *(f"| {fault.replace('_', ' ')} | {WORDS[fault]} | {met[fault]:,} |" for fault in Fault),
    ]
    return "\n".join(lines)


def _missed(cells: list[str]) -> str:
    return f"**{len(cells)} were missed**:" if cells else "none was missed."


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
