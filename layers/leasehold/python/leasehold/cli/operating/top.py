"""`leasehold top`: the same glance, kept up to date until Ctrl-C."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from leasehold.cli.command import LOOK, command
from leasehold.cli.session import Session

app = typer.Typer()


@command(app, "top", rich_help_panel=LOOK, example="leasehold top --interval 5")
def top(
    session: Session,
    *,
    interval: Annotated[float, typer.Option(min=1, help="Seconds between two looks; counts change every ten.")] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, print it and end.")] = False,
) -> None:
    """Watch the system: types, what runs, the last hour. Ends with Ctrl-C."""
    from leasehold.cli.operating.live import watch

    try:
        watch(session, timedelta(seconds=interval), once=once)
    except KeyboardInterrupt:
        return
