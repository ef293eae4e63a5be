"""What a run of many seeds has shown: how often what was hit, and what never was."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.simulation.faults import Fault
from tests.simulation.reachable import reachable_cells

if TYPE_CHECKING:
    from tests.simulation.coverage import Coverage

RESULTS = Path(__file__).parent / "results"


def missed_cells(coverage: Coverage) -> list[str]:
    return [" at ".join((cell[0], f"{cell[1]} ({cell[2]})")) for cell in reachable_cells() if not coverage.cells[cell]]


def table(coverage: Coverage) -> str:
    """Faults down, calls across."""
    operations = [name for name, _ in coverage.calls.most_common()] + ["wake record", "letter record"]
    hits: Counter[tuple[str, str]] = Counter()
    for (fault, operation, _), count in coverage.cells.items():
        hits[fault, operation] += count
    lines = [f"{'':<16}" + "".join(f"{_short(name):>12}" for name in operations)]
    lines.append(f"{'calls':<16}" + "".join(f"{coverage.calls[name] or '':>12}" for name in operations))
    lines += [
        f"{fault:<16}" + "".join(f"{hits[fault, name] or '':>12}" for name in operations) for fault in map(str, Fault)
    ]
    return "\n".join(lines)


def write_json(coverage: Coverage, seeds: int, failures: list[int]) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "coverage.json"
    document = {
        "commit": _commit(),
        "seeds": seeds,
        "failures": failures,
        "calls": dict(sorted(coverage.calls.items())),
        "cells": {" / ".join(cell): count for cell, count in sorted(coverage.cells.items())},
        "transitions": dict(sorted(coverage.transitions.items())),
        "actions": dict(sorted(coverage.actions.items())),
        "missed": missed_cells(coverage),
    }
    path.write_text(json.dumps(document, indent=1) + "\n")
    return path


def _commit() -> str:
    """Which code the figures are about; a copy without its history has them too."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _short(operation: str) -> str:
    return operation.replace("Items", "").replace("Item", "").replace("Statement", "")[:11]
