"""What a reader sees while the demo runs: a live table on a terminal, plain lines elsewhere, nothing for programs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol, Self

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from leasehold.kernel.transitions import JobStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from leasehold.kernel.job import Job
    from leasehold.local.demo.demo import Journal, Line

_RECENT = 10
_STYLES = {
    JobStatus.PENDING: "default",
    JobStatus.IN_PROGRESS: "cyan",
    JobStatus.FAILED: "yellow",
    JobStatus.COMPLETED: "green",
    JobStatus.CANCELLED: "magenta",
    JobStatus.DEAD_LETTER: "red",
}


class View(Protocol):
    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def show(self, jobs: Sequence[Job], journal: Journal) -> None: ...


class Nothing:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def show(self, jobs: Sequence[Job], journal: Journal) -> None:
        return


class Lines:
    """Each event once, as a line; and how many jobs have ended, whenever that changed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._told = 0
        self._counts = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def show(self, jobs: Sequence[Job], journal: Journal) -> None:
        for line in journal.since(self._told):
            self._told += 1
            self._print(line.after_seconds, line.text)
        counts = Counter(job.status for job in jobs)
        told = ", ".join(f"{counts[status]} {status}" for status in _STYLES if counts[status])
        if told != self._counts:
            self._counts = told
            self._print(journal.elapsed, told)

    def _print(self, seconds: float, text: str) -> None:
        self._console.print(f"{seconds:5.1f} s  {text}", markup=False, highlight=False, soft_wrap=True)


class Dashboard:
    """A table that changes in place: jobs by type and status, and the latest events below."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, refresh_per_second=8)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, jobs: Sequence[Job], journal: Journal) -> None:
        recent = journal.since(0)[-_RECENT:]
        self._live.update(Group(_counts(jobs, journal.elapsed), *(_event(line) for line in recent)))


def _counts(jobs: Sequence[Job], elapsed: float) -> Table:
    table = Table(title=f"Leasehold at work, {elapsed:.0f} s", title_justify="left")
    table.add_column("job type")
    for status, style in _STYLES.items():
        table.add_column(str(status), justify="right", style=style)
    counts = Counter((job.job_type, job.status) for job in jobs)
    for job_type in sorted({job.job_type for job in jobs}):
        table.add_row(job_type, *(str(counts[job_type, status] or "") for status in _STYLES))
    return table


def _event(line: Line) -> Text:
    return Text(f"{line.after_seconds:5.1f} s  {line.text}", style="dim", overflow="ellipsis", no_wrap=True)
