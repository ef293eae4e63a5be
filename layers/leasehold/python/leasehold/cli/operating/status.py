"""`leasehold status`: how the system stands now."""

from __future__ import annotations

import typer

from leasehold.cli.command import LOOK, command
from leasehold.cli.session import Session

app = typer.Typer()


@command(app, "status", rich_help_panel=LOOK, example="leasehold status --queue dev")
def status(session: Session) -> None:
    """Show what is halted, paused or open, what is due and how old, dead letters, and counts per type and status."""
    from leasehold.cli.operating.overview import TYPES, headlines, overview, rows_by_type

    now = session.now()
    document = overview(session.admin, now)
    if session.out.as_json:
        session.out.document(document)
        return
    from rich.text import Text  # which programs that read JSON need not wait for

    for line, style in headlines(document, now):
        session.out.console.print(Text(line, style=style), soft_wrap=True)
    rows = rows_by_type(document, now)
    if rows:
        session.out.console.print()
        session.out.table(TYPES, rows)
