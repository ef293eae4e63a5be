"""The results of a whole run and of what was measured anew since: a JSON file, and a chart for what is better seen."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.bounds import judge
from tests.benchmarks.charts import charts
from tests.benchmarks.machine import circumstances

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.benchmarks.bounds import Verdict
    from tests.benchmarks.sizes import Sizes

FOLDER = Path(__file__).parent / "results"
LATEST = FOLDER / "latest.json"


def keep(
    results: Mapping[str, Any], verdicts: Sequence[Verdict], sizes: Sizes, *, seconds: float, folder: Path = FOLDER
) -> None:
    """`seconds` is how long the whole run took."""
    document = {
        **circumstances(),
        "seconds": round(seconds, 1),
        # A bound on 1,000 jobs means nothing of a run that had 60: whoever reads the figures must see it.
        "sizes": asdict(sizes),
        "benchmarks": dict(results),
        "bounds": [verdict.as_record() for verdict in verdicts],
    }
    _write(document, folder)


def keep_anew(results: Mapping[str, Any], folder: Path = FOLDER) -> None:
    """Replace some benchmarks of the last whole run by these, which say when they were measured."""
    kept = load(folder / "latest.json")
    kept["benchmarks"] |= results
    now = circumstances()
    when = {name: now[name] for name in ("measured_at", "commit", "has_uncommitted_changes")}
    kept["measured_anew"] = {**kept.get("measured_anew", {}), **dict.fromkeys(results, when)}
    kept["bounds"] = [verdict.as_record() for verdict in judge(kept["benchmarks"])]
    _write(kept, folder)


def _write(document: dict[str, Any], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    # Charts of an earlier run would stand beside figures that they do not show.
    for stale in folder.glob("*.svg"):
        stale.unlink()
    text = json.dumps(document, indent=2, sort_keys=True) + "\n"
    (folder / "latest.json").write_text(text)
    # Of what was written, so that whoever reads it back draws the same.
    for name, chart in charts(json.loads(text)["benchmarks"]).items():
        (folder / f"{name}.svg").write_text(chart.drawn())


def load(path: Path = LATEST) -> dict[str, Any]:
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: run `make bench` first")
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded
