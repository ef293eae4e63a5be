"""`leasehold demo`: the whole system on this machine, seen at work."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Annotated, Never

import typer

from leasehold.cli.command import BUILD
from leasehold.cli.main import EXIT_UNUSABLE
from leasehold.cli.options import DEFAULT_PORT, HERE, Port, Root

if TYPE_CHECKING:
    from rich.console import Console

    from leasehold.local.aws.instance import LocalAws
    from leasehold.local.demo.demo import Report

_EXIT_INTERRUPTED = 128 + signal.SIGINT
_EXIT_TERMINATED = 128 + signal.SIGTERM


app = typer.Typer()


@app.command(rich_help_panel=BUILD)
def demo(
    root: Root = HERE,
    port: Port = DEFAULT_PORT,
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a report for programs; what happens is told on standard error.")
    ] = False,
    down: Annotated[bool, typer.Option("--down", help="Stop the local AWS at the end.")] = False,
) -> None:
    """Deploy to a local AWS, see a realistic mix of jobs run there, and check how each ended. No account is needed.

    Exits with 0 only if every job ended as it should, 1 if one did not, 2 if the demo could not run.
    """
    from leasehold.cli.progress import console_for
    from leasehold.kernel.errors import LeaseholdError
    from leasehold.local.aws.instance import LocalAws
    from leasehold.local.demo import summary

    # A report for programs is alone on the standard output.
    console = console_for(sys.stderr if as_json else sys.stdout)
    # Left to itself, SIGTERM would end this process without a word, and what it started would go on.
    signal.signal(signal.SIGTERM, _terminate)
    try:
        aws = LocalAws(root.absolute())
        try:
            report = _run(aws, port, console)
        finally:
            if down:
                aws.down()
    except LeaseholdError as error:
        print(f"The demo could not run: {error}", file=sys.stderr)
        raise typer.Exit(EXIT_UNUSABLE) from None
    except KeyboardInterrupt:
        print("Interrupted. If the local AWS is up, it stays; stop it with: leasehold local down", file=sys.stderr)
        raise typer.Exit(_EXIT_INTERRUPTED) from None
    if as_json:
        print(summary.as_json(report))
    else:
        summary.tell(report, console, is_stopped=down)
    raise typer.Exit(0 if report.is_good else 1)


def _run(aws: LocalAws, port: int, console: Console) -> Report:
    from leasehold.cli.progress import Progress
    from leasehold.local.aws.connection import open_queue
    from leasehold.local.aws.deployment import deploy
    from leasehold.local.demo import mix, view
    from leasehold.local.demo.demo import Journal, run_demo

    with Progress(console) as progress:
        progress.say("starting the local AWS")
        running = aws.up(port, say=progress.say)
        progress.say(f"it listens on {running.endpoint}")
        if not deploy(aws, running, say=progress.say, hear=progress.hear):
            progress.say("what is deployed is up to date")
    shown = view.Dashboard(console) if console.is_terminal else view.Lines(console)
    return run_demo(open_queue(running), mix.CASES, Journal(), shown)


def _terminate(*_: object) -> Never:
    raise SystemExit(_EXIT_TERMINATED)
