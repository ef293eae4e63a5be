"""The demo's last words: what happened, whether it should have, and where to look next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from leasehold.local.demo.demo import Report

_SHOWN_PROBLEMS = 5


def as_json(report: Report) -> str:
    return json.dumps(
        {
            "ok": report.is_good,
            "seconds": report.seconds,
            "jobs": report.by_status,
            "cases": [
                {
                    "case": verdict.case,
                    "ok": verdict.is_good,
                    "asked": verdict.asked,
                    "expected": verdict.expected,
                    "came_out": verdict.came_out,
                    "jobs": verdict.jobs,
                    "problems": list(verdict.problems),
                }
                for verdict in report.verdicts
            ],
        },
        indent=2,
    )


def tell(report: Report, console: Console, *, is_stopped: bool) -> None:
    table = Table(title="What happened", title_justify="left")
    for column in ("", "case", "asked", "expected", "came out"):
        table.add_column(column)
    for verdict in report.verdicts:
        mark = "[green]✓[/]" if verdict.is_good else "[bold red]✗[/]"
        table.add_row(mark, verdict.case, verdict.asked, verdict.expected, verdict.came_out)
    console.print()
    console.print(table)
    for verdict in report.verdicts:
        for problem in verdict.problems[:_SHOWN_PROBLEMS]:
            console.print(f"✗ {verdict.case}: {problem}", style="red", markup=False)
        left = len(verdict.problems) - _SHOWN_PROBLEMS
        if left > 0:
            console.print(f"  … and {left} more", style="red")
    total = sum(report.by_status.values())
    if report.is_good:
        console.print(f"Every one of the {total} jobs ended as it should, in {report.seconds:g} s.")
        console.print(_STOPPED if is_stopped else _NEXT, markup=False, highlight=False)
    else:
        console.print(
            f"Not every one of the {total} jobs ended as it should. See why: leasehold local logs", style="red"
        )


_NEXT = """
The local AWS and what is deployed on it stay, so that the next run is quick. Look next at
  leasehold local status          what is deployed
  leasehold local logs poller     what the poller logged; without a name, what all functions did
  leasehold local down            stop it, and remove everything that it kept
  functions/jobs/                 the job types that you just saw; functions/exercises/ those that go wrong
  docs/state-machine.md           the states of a job, and who may change them
  make test                       everything above, proven"""

_STOPPED = "The local AWS was stopped, and its files are gone."
