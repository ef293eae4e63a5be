"""Listings: as many columns as there is room for, identifiers always whole, plain text where no terminal is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.cli.terminal.cells import cell

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from leasehold.domain.resource_documents import Document

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
        return cell(document.get(self.value)) if isinstance(self.value, str) else self.value(document)


def show_table(columns: Sequence[Column], documents: Sequence[Document], console: Console) -> None:
    rows = [[column.text(each) for column in columns] for each in documents]
    if not console.is_terminal:
        _print_plain([[column.title for column in columns], *rows], console)
        return
    kept = fitting(columns, rows, console.width)
    if kept is None:
        _print_blocks(columns, rows, console)
    else:
        console.print(make_table([columns[each] for each in kept], [[row[each] for each in kept] for row in rows]))


def make_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, title: str | None = None) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold", title=title)
    for column in columns:
        table.add_column(
            column.title,
            no_wrap=True,
            overflow="ellipsis" if column.stretches else "fold",
            ratio=1 if column.stretches else None,
        )
    for row in rows:
        table.add_row(*[Text(each, style=STATUS_STYLES.get(each, "")) for each in row])
    return table


def fitting(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """Which columns there is room for; None if not even those that are always shown fit."""
    from rich.cells import cell_len

    needed = [max(cell_len(each) for each in (column.title, *cells)) for column, cells in _by_column(columns, rows)]
    least = [
        min(needs, _LEAST_STRETCH) if column.stretches else needs for column, needs in zip(columns, needed, strict=True)
    ]
    kept = list(range(len(columns)))
    while sum(least[each] + _GAP for each in kept) - _GAP > width:
        droppable = [each for each in kept if columns[each].rank]
        if not droppable:
            return None
        kept.remove(max(droppable, key=lambda each: (columns[each].rank, each)))
    return kept


def _by_column(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[tuple[Column, list[str]]]:
    return [(column, [row[at] for row in rows]) for at, column in enumerate(columns)]


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
                console.print(f"{column.title}: {value}", markup=False, highlight=False)
        console.print()
