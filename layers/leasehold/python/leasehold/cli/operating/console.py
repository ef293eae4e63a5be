"""`leasehold console`: a page on this machine, for this operator."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.cli.command import LOOK, command
from leasehold.cli.session import Session

app = typer.Typer()


@command(app, "console", rich_help_panel=LOOK, example="leasehold console --queue dev")
def console(
    session: Session,
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port on loopback that it listens on; 0 finds a free one.")
    ] = 8642,
) -> None:
    """Serve a page on 127.0.0.1 to see and do all of this in a browser. Ends with Ctrl-C.

    It works with your own AWS credentials, and lets in only who opens the address that it prints.
    """
    from leasehold.console.server import console_of

    server = console_of(session.admin.services, name=session.queue_name, port=port, open_roots=session.root_archive)
    session.out.done({"url": server.url}, f"The console of {server.name} is open at\n{server.url}")
    session.out.hint("Whoever knows this address can act as you: keep it to yourself. Ctrl-C ends it.")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return
