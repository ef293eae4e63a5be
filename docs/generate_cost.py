"""Write the parts of docs/cost.md and docs/benchmarks.md that follow from the last `make bench` and docs/prices.toml.

    .venv/bin/python docs/generate_cost.py        # `make docs` runs this and the others

A test compares the pages with what this makes, so that figures, prices and pages cannot drift apart.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    # Started as a file, Python knows this folder and not the one that it is in.
    sys.path.insert(0, str(Path(__file__).parent.parent))

from docs.costing import page, prices
from docs.costing.measured_page import services as measured_parts
from docs.filling import filled
from tests.benchmarks import results

__all__ = ["BENCHMARKS", "COST", "filled", "pages"]

COST = Path(__file__).parent / "cost.md"
BENCHMARKS = Path(__file__).parent / "benchmarks.md"


def pages() -> dict[Path, str]:
    """Both pages as they should be."""
    latest = results.load()
    return {
        COST: filled(COST.read_text(), page.services(latest, prices.load()), COST.name),
        BENCHMARKS: filled(BENCHMARKS.read_text(), measured_parts(latest), BENCHMARKS.name),
    }


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
        print(f"wrote {path}")
