"""The figures of the last full run, kept next to the model and tied to it by its hash."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from docs import filling
from tests.model.redundant import REDUNDANT
from tests.model.spin import HERE, PROPERTIES, SOURCES, Size

if TYPE_CHECKING:
    from tests.model.spin import Search

RESULTS = HERE / "results.json"
PAGE = HERE.parent.parent / "docs" / "model.md"
RERUN = "run `make model`"

# One job is enough to break a guard of it; and everything that one job can do is seen in a second.
SMALL = Size(jobs=1, mishaps=2)
FULL = Size()


def model_hash() -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()


def figures_of(size: Size, search: Search) -> dict[str, Any]:
    return {
        **{name: getattr(size, name) for name in ("workers", "jobs", "expiries", "mishaps")},
        **{name: getattr(search, name) for name in ("states", "transitions", "depth", "memory_mb", "seconds")},
    }


def counterexample_of(search: Search) -> dict[str, Any] | None:
    found = search.violation
    return None if found is None else {"broken": found.broken, "steps": found.steps}


def load() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text())
    return found


def save(results: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def filled(page: str, results: dict[str, Any]) -> str:
    """The page with its generated parts made anew."""
    parts = {
        "properties": properties(),
        "figures": figures(results),
        "counterexamples": counterexamples(results),
        "redundant": redundant(results),
    }
    return filling.filled(page, parts, PAGE.name)


def properties() -> str:
    rows = [f"| {name} | {text} |" for name, text in PROPERTIES.items()]
    return "\n".join(["| property | what it says |", "| --- | --- |", *rows])


def figures(results: dict[str, Any]) -> str:
    head = "| search | workers | jobs | expiries | mishaps | states | transitions | depth | memory | time |"
    rows = [
        f"| {name} | {run['workers']} | {run['jobs']} | {run['expiries']} | {run['mishaps']} | {run['states']:,} "
        f"| {run['transitions']:,} | {run['depth']} | {run['memory_mb']:,} MB | {run['seconds']:.0f} s |"
        for name, run in results["runs"].items()
    ]
    return "\n".join([head, "| --- " * 10 + "|", *rows, "", f"With {results['spin']}."])


def counterexamples(results: dict[str, Any]) -> str:
    found = {name: example for name, example in results["without"].items() if example is not None}
    rows = [f"| `{name}` | {example['broken']} | {example['steps']} |" for name, example in found.items()]
    return "\n".join(["| without | breaks | after steps |", "| --- | --- | --- |", *rows])


def redundant(results: dict[str, Any]) -> str:
    by_reason: dict[str, list[str]] = {}
    for name, example in results["without"].items():
        if example is None:
            by_reason.setdefault(REDUNDANT[name], []).append(f"`{name}`")
    rows = [f"| {', '.join(names)} | {reason} |" for reason, names in by_reason.items()]
    return "\n".join(["| without | is implied by |", "| --- | --- |", *rows])
