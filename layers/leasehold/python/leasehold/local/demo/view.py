"""What a reader sees of the demo: what changes in place on a terminal, or plain lines; then whether all is well."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from leasehold.kernel.transitions import JobStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from leasehold.kernel.job import Job
    from leasehold.local.demo.demo import Journal, Report

_RECENT = 10
_SHOWN_PROBLEMS = 5
_NEXT = """
The local AWS and what is deployed on it stay, so that the next run is quick. Look next at
  leasehold local status          what is deployed
  leasehold local logs poller     what the poller logged; without a name, what all functions did
  leasehold local down            stop it, and remove everything that it kept
  functions/jobs/                 the job types that you just saw; functions/exercises/ those that go wrong
  docs/state-machine.md           the states of a job, and who may change them
  make test                       everything above, proven"""

_STOPPED = "The local AWS was stopped, and its files are gone."


class Lines:
    """Each event once, as a line; and how many jobs have ended, whenever that changed."""

    def __init__(self, console: Console) -> None:
        self.shown = nullcontext()
        self._console = console
        self._told = 0
        self._counts = ""

    def show(self, jobs: Sequence[Job], journal: Journal) -> None:
        fresh, self._told = journal.lines[self._told :], len(journal.lines)
        counts = _counts(jobs)
        if counts != self._counts:
            self._counts = counts
            fresh.append(journal.timed(counts))
        for line in fresh:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)


class Dashboard:
    """Changes in place: how many jobs are in which state, and the latest events below."""

    def __init__(self, console: Console) -> None:
        self.shown = Live(console=console, refresh_per_second=8)

    def show(self, jobs: Sequence[Job], journal: Journal) -> None:
        recent = [Text(line, style="dim", overflow="ellipsis", no_wrap=True) for line in journal.lines[-_RECENT:]]
        self.shown.update(Group(Text(journal.timed(_counts(jobs)), style="bold"), *recent))


type View = Lines | Dashboard


def _counts(jobs: Sequence[Job]) -> str:
    counts = Counter(job.status for job in jobs)
    return ", ".join(f"{counts[status]} {status}" for status in JobStatus if counts[status])


def as_json(report: Report) -> str:
    cases = [{"case": each.case, "ok": each.is_good, **asdict(each)} for each in report.verdicts]
    head = {"ok": report.is_good, "seconds": report.seconds, "jobs": report.by_status}
    return json.dumps({**head, "cases": cases}, indent=2)


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
