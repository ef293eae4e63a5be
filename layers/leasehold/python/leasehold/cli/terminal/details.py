"""One thing in detail: its fields one below the other, then what is larger than a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from leasehold.cli.terminal.cells import cell, clean
from leasehold.cli.terminal.tables import STATUS_STYLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from leasehold.admin.job_documents import Document


def show_fields(document: Document, console: Console, *, without: Sequence[str] = ()) -> None:
    from rich.text import Text

    shown = {clean(name): cell(value) for name, value in document.items() if name not in without}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        line = Text(f"{name:<{width}}  ", style="bold").append(Text(value, style=STATUS_STYLES.get(value, "not bold")))
        console.print(line, highlight=False, soft_wrap=True)


def show_json(title: str, value: object, console: Console) -> None:
    """Payloads and results, as they are stored."""
    show_lines(title, json.dumps(value, indent=2, ensure_ascii=False), console)


def show_lines(title: str, text: str, console: Console) -> None:
    show_heading(title, console)
    for line in text.splitlines():
        console.print(f"  {clean(line)}", markup=False, highlight=False, soft_wrap=True)


def show_heading(title: str, console: Console) -> None:
    from rich.text import Text

    console.print()
    console.print(Text(clean(title), style="bold"))
