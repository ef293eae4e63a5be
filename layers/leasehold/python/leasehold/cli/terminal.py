"""What people see of an answer: one value, a listing, one thing in detail.

Values come from anywhere: nothing in them may speak to the terminal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from leasehold.documents import Document

NOTHING = "-"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_GAP = 2
# A column that stretches is worth showing from this width on.
_LEAST_STRETCH = 16
_STATUS_STYLES = {
    "pending": "cyan",
    "in_progress": "blue",
    "failed": "yellow",
    "completed": "green",
    "cancelled": "dim",
    "dead_letter": "red",
    "COMPLETED": "green",
    "FAILED": "red",
    "SKIPPED": "dim",
    "running": "blue",
}


def clean(text: str) -> str:
    """Without control characters: an error message must not be able to move the cursor, or hide what follows.

    >>> clean("done\\x1b[2J\\nreally")
    'done\\\\x1b[2J really'
    """
    spaced = " ".join(text.splitlines())
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in spaced)


def cell(value: object) -> str:
    if value is None or value in ("", [], {}):
        return NOTHING
    match value:
        case bool():
            return "yes" if value else "no"
        case str() if _TIME.fullmatch(value):
            return short_time(value)
        case list() if all(isinstance(each, str) for each in value):
            return ", ".join(map(cell, value))
        case list() | dict():
            return clean(json.dumps(value, ensure_ascii=False))
        case float():
            return f"{value:g}"
        case _:
            return clean(str(value))


def short_time(text: str) -> str:
    """
    >>> short_time("2026-11-15T09:30:00.000Z")
    '2026-11-15 09:30:00Z'
    """
    return f"{text[:10]} {text[11:19]}Z"


def relative(text: object, now: datetime, *, is_past: bool = False) -> str:
    """When a time of a document is, seen from now; what only looks like one is shown as it is.

    is_past: by another clock, which may be ahead of this one.

    >>> relative("2026-11-15T09:30:00.000Z", datetime.fromisoformat("2026-11-15T07:30:00Z"))
    'in 2h'
    >>> relative("looks-like-Tone-but-notZ", datetime.fromisoformat("2026-11-15T07:30:00Z"))
    'looks-like-Tone-but-notZ'
    """
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        return cell(text)
    ahead = datetime.fromisoformat(text) - now
    if ahead > timedelta(0) and not is_past:
        return f"in {length(ahead)}"
    return f"{length(max(-ahead, timedelta(0)))} ago"


def length(duration: timedelta) -> str:
    """In its two largest units at most.

    >>> length(timedelta(hours=2, minutes=5, seconds=3)), length(timedelta(seconds=0.25))
    ('2h 5m', '0.2s')
    """
    seconds = duration.total_seconds()
    if seconds < 10:
        return f"{seconds:.1f}s".replace(".0s", "s")
    left, parts = int(seconds), []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        parts += [f"{count}{unit}"] if count else []
    return " ".join(parts[:2])


def counted(number: int, noun: str) -> str:
    """
    >>> counted(1, "job"), counted(1000, "job")
    ('1 job', '1,000 jobs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def priority_name(value: object) -> str:
    from leasehold.kernel.keys import Priority

    return Priority(value).name.lower() if isinstance(value, int) else NOTHING


@dataclass(frozen=True, slots=True)
class Column:
    """`value` is the name of a document's field, or makes the cell from the document.

    rank: 0 is always shown; of the others, the highest is left out first where there is no room.
    stretches: takes the room that is left, and is cut short there.
    """

    title: str
    value: str | Callable[[Document], str]
    rank: int = 1
    stretches: bool = False

    def text(self, document: Document) -> str:
        # Whoever makes a cell from a document may have taken its text as it is.
        return cell(document.get(self.value)) if isinstance(self.value, str) else clean(self.value(document))


def show_table(columns: Sequence[Column], documents: Sequence[Document], console: Console) -> None:
    """Identifiers are always whole. For pipes every column, nothing cut; on a very narrow terminal one line a value."""
    if not console.is_terminal:
        lines = [[each.title for each in columns], *_rows(columns, documents)]
        widths = [max(map(len, each)) for each in zip(*lines, strict=True)]
        for line in lines:
            text = (" " * _GAP).join(map(str.ljust, line, widths))
            print(text.rstrip(), file=console.file)
        return
    table = fitting_table(columns, documents, console.width)
    if table is not None:
        console.print(table)
        return
    for row in _rows(columns, documents):
        for column, value in zip(columns, row, strict=True):
            if value != NOTHING:
                console.print(f"{column.title}: {value}", markup=False, highlight=False, soft_wrap=True)
        console.print()


def fitting_table(columns: Sequence[Column], documents: Sequence[Document], width: int) -> Table | None:
    """A table of the columns that there is room for; None if not even those that are always shown fit."""
    from rich.cells import cell_len

    least = {}
    for column in columns:
        needed = max(cell_len(text) for text in (column.title, *(column.text(each) for each in documents)))
        least[column] = min(needed, _LEAST_STRETCH) if column.stretches else needed
    while sum(least.values()) + _GAP * (len(least) - 1) > width:
        *_, last = sorted(least, key=lambda each: each.rank)
        if not last.rank:
            return None
        del least[last]
    return table_of(list(least), documents)


def table_of(columns: Sequence[Column], documents: Sequence[Document], *, max_width: int | None = None) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for column in columns:
        # Of what does not fit, rich narrows the columns that may wrap: those that stretch.
        table.add_column(column.title, no_wrap=not column.stretches, max_width=max_width, overflow="ellipsis")
    for row in _rows(columns, documents):
        table.add_row(*(Text(each, style=_STATUS_STYLES.get(each, ""), no_wrap=True) for each in row))
    return table


def _rows(columns: Sequence[Column], documents: Sequence[Document]) -> list[list[str]]:
    return [[column.text(each) for column in columns] for each in documents]


_RUNS = (
    Column("run", "attempt", rank=0),
    Column("status", "status", rank=0),
    Column("started", "started_at", rank=1),
    Column("ended", "ended_at", rank=2),
    Column("worker", "worker", rank=4),
    Column("error", lambda run: cell(_error(run)), rank=3, stretches=True),
)
_TIMELINE = (
    Column("at", "at", rank=0),
    Column("event", "event", rank=0),
    Column("detail", lambda event: _rest(event, {"at", "event"}), rank=1, stretches=True),
)
_AS_JSON: tuple[str, ...] = ("payload", "result")
_BELOW = (*_AS_JSON, "traceback", "runs", "timeline", "dead_letter")


def _error(run: Document) -> object:
    """Of a run on its job, or in a dead letter, which has its traceback whole: the last line says what it was."""
    return run.get("error") or str(run.get("traceback") or "").rstrip().rpartition("\n")[2] or run.get("reason")


def _rest(document: Document, without: set[str]) -> str:
    return cell(", ".join(f"{name} {cell(value)}" for name, value in document.items() if name not in without))


def show_details(document: Document, console: Console) -> None:
    """The fields of a thing one below the other, then what is larger than a line: payload and result as stored."""
    from rich.text import Text

    shown = {clean(name): cell(value) for name, value in document.items() if name not in _BELOW}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        line = Text(f"{name:<{width}}  ", style="bold").append(Text(value, style=_STATUS_STYLES.get(value, "not bold")))
        console.print(line, highlight=False, soft_wrap=True)
    larger = {name: json.dumps(document[name], indent=2, ensure_ascii=False) for name in _AS_JSON if name in document}
    if document.get("traceback"):
        larger["traceback"] = str(document["traceback"])
    for name, text in larger.items():
        console.print(Text(f"\n{name}", style="bold"))
        for each in text.splitlines():
            console.print(f"  {clean(each)}", markup=False, highlight=False, soft_wrap=True)
    for name, columns in (("runs", _RUNS), ("timeline", _TIMELINE)):
        if document.get(name):
            console.print(Text(f"\n{name}", style="bold"))
            show_table(columns, cast("list[Document]", document[name]), console)
