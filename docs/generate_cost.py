"""Write the parts of docs/cost.md and docs/benchmarks.md that follow from the last `make bench` and docs/prices.toml.

    .venv/bin/python docs/generate_cost.py

A test compares the pages with what this makes, so that figures, prices and pages cannot drift apart.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    # Started as a file, Python knows this folder and not the one that the results are in.
    sys.path.insert(0, str(Path(__file__).parent.parent))

from docs.costing import page, prices
from docs.costing.measured_page import parts as measured_parts
from tests.benchmarks import results

if TYPE_CHECKING:
    from collections.abc import Mapping

COST = Path(__file__).parent / "cost.md"
BENCHMARKS = Path(__file__).parent / "benchmarks.md"


def filled(text: str, parts: Mapping[str, str], name: str) -> str:
    """The page with its generated parts made anew."""
    for part, made in parts.items():
        begin, end = f"<!-- {part} -->", f"<!-- /{part} -->"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            raise ValueError(f"{name} has no place for the {part}: put {begin} and {end} where it belongs")
        text = f"{before}{begin}\n{made}\n{end}{after}"
    return text


def pages() -> dict[Path, str]:
    """Both pages as they should be."""
    latest = results.load()
    return {
        COST: filled(COST.read_text(), page.parts(latest, prices.load()), COST.name),
        BENCHMARKS: filled(BENCHMARKS.read_text(), measured_parts(latest), BENCHMARKS.name),
    }


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
        print(f"wrote {path}")
