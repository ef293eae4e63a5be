"""The generated parts of docs/benchmarks.md: where it was measured, what was promised, and what came out."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from docs.costing.written import table
from tests.benchmarks.charts import charts
from tests.benchmarks.sizes import WHOLE

# As JSON has it, where a tuple is a list.
_WHOLE = json.loads(json.dumps(asdict(WHOLE)))
SMALLER = "These figures are of a small run, made to try the command out: its bounds are not judged by them."

if TYPE_CHECKING:
    from collections.abc import Iterator


def parts(results: dict[str, Any]) -> dict[str, str]:
    return {
        "circumstances": _circumstances(results),
        "bounds": _bounds(results),
        "charts": "\n\n".join(
            f"![{chart.title}](../tests/benchmarks/results/{name}.svg)"
            for name, chart in charts(results["benchmarks"]).items()
        ),
        "celery": "\n".join(_celery(results["benchmarks"]["celery"])),
    }


def _circumstances(results: dict[str, Any]) -> str:
    machine, versions = results["machine"], results["versions"]
    where = f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gib']} GiB, {machine['system']}"
    what = ", ".join(f"{name} {version}" for name, version in versions.items())
    on = "" if not results["has_uncommitted_changes"] else ", with changes that were not committed yet"
    small = "" if results["sizes"] == _WHOLE else f"**{SMALLER}**\n\n"
    return f"{small}Measured at {results['measured_at']}, commit `{results['commit'][:12]}`{on}: {where}; {what}."


def _bounds(results: dict[str, Any]) -> str:
    rows = [
        [
            each["what"],
            "not measured" if each["value"] is None else f"{each['value']:.4g} {each['unit']}",
            f"{each['at_most']:g} {each['unit']}",
            "yes" if each["met"] else "**no**",
        ]
        for each in results["bounds"]
    ]
    return table(["figure", "measured", "at most", "met"], rows)


def _celery(figures: dict[str, Any]) -> Iterator[str]:
    if "error" in figures:
        yield f"It could not be measured: {figures['error']}"
        return
    yield table(
        [
            f"{figures['tasks']} tasks, {figures['threads']} threads",
            "tasks a second",
            "requests per task",
            "requests",
            "a second while idle",
        ],
        [
            [
                name,
                f"{figures[side]['tasks_per_second']:g}",
                f"{figures[side]['requests_per_task']:g}",
                ", ".join(f"{count} {operation}" for operation, count in figures[side]["requests"].items()),
                f"{figures[side]['idle_requests_per_second']:g}",
            ]
            for name, side in (("Leasehold on DynamoDB", "leasehold"), ("Celery on SQS", "celery"))
        ],
    )
    yield ""
    yield "What differs:"
    yield ""
    yield from (f"- {each}" for each in figures["differences"])
