"""The commands."""

from __future__ import annotations

from importlib.metadata import version as version_of

import typer

from leasehold.cli import local, new
from leasehold.cli.demo import demo

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Leasehold: a serverless scheduled job queue for AWS.",
)
app.add_typer(local.app, name="local")
app.add_typer(new.app, name="new")
app.command()(demo)


@app.command()
def version() -> None:
    """Print the version."""
    print(version_of("leasehold"))
