"""The commands."""

from __future__ import annotations

import signal
import sys
from importlib.metadata import version as version_of
from typing import Annotated, Never

import typer
from rich.console import Console

from leasehold.cli import local, new
from leasehold.cli.main import EXIT_UNUSABLE
from leasehold.domain.errors import LeaseholdError

_EXIT_INTERRUPTED = 128 + signal.SIGINT
_EXIT_TERMINATED = 128 + signal.SIGTERM
# Wide enough for the demo's last table when nobody knows how wide the output is.
_PLAIN_WIDTH = 150

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Leasehold: a serverless scheduled job queue for AWS.",
)
app.add_typer(local.app, name="local")
app.add_typer(new.app, name="new")


@app.command()
def version() -> None:
    """Print the version."""
    print(version_of("leasehold"))


@app.command()
def demo(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print nothing but a report for programs.")] = False,
) -> None:
    """See a realistic mix of jobs run on this machine, each checked at the end. Takes about 20 s.

    Exits with 0 only if every job ended as it should, 1 if one did not, 2 if the demo could not run.
    """
    from leasehold.local.demo import mix, summary, view
    from leasehold.local.demo.demo import run_demo
    from leasehold.local.demo.journal import Journal

    console = Console() if sys.stdout.isatty() else Console(width=_PLAIN_WIDTH)
    lively = view.Dashboard(console) if console.is_terminal else view.Lines(console)
    # Left to itself, SIGTERM would end the process without a word, and the database would live on.
    signal.signal(signal.SIGTERM, _terminate)
    try:
        report = run_demo(mix.CASES, Journal(), view.Nothing() if as_json else lively)
    except LeaseholdError as error:
        print(f"The demo could not run: {error}", file=sys.stderr)
        raise typer.Exit(EXIT_UNUSABLE) from None
    except KeyboardInterrupt:
        raise typer.Exit(_EXIT_INTERRUPTED) from None
    if as_json:
        print(summary.as_json(report))
    else:
        summary.tell(report, console)
    raise typer.Exit(0 if report.is_good else 1)


def _terminate(*_: object) -> Never:
    raise SystemExit(_EXIT_TERMINATED)
