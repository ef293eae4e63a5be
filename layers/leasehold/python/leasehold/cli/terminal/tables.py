"""Listings: as many columns as there is room for, identifiers always whole, plain text where no terminal is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.cli.terminal.cells import cell, clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from leasehold.admin.job_documents import Document

_GAP = 2
# A column that stretches is worth showing from this width on.
_LEAST_STRETCH = 16

STATUS_STYLES = {
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
    rows = [[column.text(each) for column in columns] for each in documents]
    if not console.is_terminal:
        _print_plain([[column.title for column in columns], *rows], console)
        return
    table = fitting_table(columns, rows, console.width)
    if table is None:
        _print_blocks(columns, rows, console)
    else:
        console.print(table)


def fitting_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> Table | None:
    """A table of the columns that there is room for; None if not even those that are always shown fit."""
    widths = fitting(columns, rows, width)
    return None if widths is None else make_table(columns, rows, widths)


def make_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], widths: Mapping[int, int]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for at, width in widths.items():
        table.add_column(columns[at].title, no_wrap=True, overflow="ellipsis", width=width)
    for row in rows:
        table.add_row(*[Text(row[at], style=STATUS_STYLES.get(row[at], "")) for at in widths])
    return table


def fitting(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> dict[int, int] | None:
    """The columns that there is room for, each with its width."""
    from rich.cells import cell_len

    needed = [
        max(cell_len(each) for each in (column.title, *(row[at] for row in rows))) for at, column in enumerate(columns)
    ]
    least = {
        at: min(needed[at], _LEAST_STRETCH) if column.stretches else needed[at] for at, column in enumerate(columns)
    }
    while (left := width - sum(each + _GAP for each in least.values()) + _GAP) < 0:
        droppable = [at for at in least if columns[at].rank]
        if not droppable:
            return None
        del least[max(droppable, key=lambda at: (columns[at].rank, at))]
    for at, width_so_far in least.items():
        more = min(left, needed[at] - width_so_far)
        least[at] += more
        left -= more
    return least


def _print_plain(lines: Sequence[Sequence[str]], console: Console) -> None:
    """For pipes: every column, nothing cut."""
    widths = [max(map(len, each)) for each in zip(*lines, strict=True)]
    for line in lines:
        text = (" " * _GAP).join(each.ljust(width) for each, width in zip(line, widths, strict=True))
        print(text.rstrip(), file=console.file)


def _print_blocks(columns: Sequence[Column], rows: Sequence[Sequence[str]], console: Console) -> None:
    """For very narrow terminals: one line a value."""
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            if value != "-":
                console.print(f"{column.title}: {value}", markup=False, highlight=False, soft_wrap=True)
        console.print()
