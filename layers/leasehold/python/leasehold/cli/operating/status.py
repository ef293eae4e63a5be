"""`leasehold status`, `top` and `console`: how the system stands, once, kept up to date, or in a browser."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Annotated

import typer
from typer import Option

from leasehold.cli.command import command
from leasehold.cli.session import Session

app = typer.Typer()


@command(app, "leasehold status --queue dev")
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


@command(app, "leasehold top --interval 5")
def top(
    session: Session,
    *,
    interval: Annotated[float, Option(min=1, help="Seconds between two looks; counts change every ten.")] = 5.0,
    once: Annotated[bool, Option("--once", help="Look once, print it and end.")] = False,
) -> None:
    """Watch the system: types, what runs, the last hour. Ends with Ctrl-C."""
    from leasehold.cli.operating.live import watch

    with suppress(KeyboardInterrupt):
        watch(session, timedelta(seconds=interval), once=once)


@command(app, "leasehold console --queue dev")
def console(
    session: Session,
    *,
    port: Annotated[
        int, Option(min=0, max=65535, help="The port on loopback that it listens on; 0 finds a free one.")
    ] = 8642,
) -> None:
    """Serve a page on 127.0.0.1 to see and do all of this in a browser. Ends with Ctrl-C.

    It works with your own AWS credentials, and lets in only who opens the address that it prints.
    """
    from leasehold.console.server import ConsoleServer

    server = ConsoleServer(session.admin.services, name=session.queue_name, port=port, open_roots=session.root_archive)
    session.out.done({"url": server.url}, f"The console of {server.name} is open at", server.url)
    session.out.hint("Whoever knows this address can act as you: keep it to yourself. Ctrl-C ends it.")
    with suppress(KeyboardInterrupt):
        server.serve_forever()
