"""`leasehold local`: the deployed stacks on this machine."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from leasehold.cli.main import EXIT_UNUSABLE
from leasehold.domain.errors import LeaseholdError
from leasehold.local.aws.deployment import deploy as deploy_stacks
from leasehold.local.aws.inspection import functions, log_lines, stacks
from leasehold.local.aws.inspection import invoke as call
from leasehold.local.aws.instance import DEFAULT_PORT, LocalAws, Running

app = typer.Typer(no_args_is_help=True, help="The local AWS of this machine: no account, no docker.")

Root = Annotated[Path, typer.Option(help="The project's folder.")]
Port = Annotated[int, typer.Option(help="The port on loopback that it listens on.")]
HERE = Path()


def _say(text: str) -> None:
    print(f"==> {text}", flush=True)


def _fail(error: LeaseholdError) -> typer.Exit:
    print(error, file=sys.stderr)
    return typer.Exit(EXIT_UNUSABLE)


def _running(aws: LocalAws) -> Running:
    running = aws.running()
    if running is None:
        print("The local AWS is not running. Start it with: leasehold local up", file=sys.stderr)
        raise typer.Exit(1)
    return running


@app.command()
def up(root: Root = HERE, port: Port = DEFAULT_PORT) -> None:
    """Start the local AWS, or find it started."""
    try:
        running = LocalAws(root.absolute()).up(port)
    except LeaseholdError as error:
        raise _fail(error) from None
    _say(f"the local AWS listens on {running.endpoint} (process {running.pid})")


@app.command()
def deploy(
    root: Root = HERE,
    port: Port = DEFAULT_PORT,
    *,
    force: Annotated[bool, typer.Option(help="Deploy even if nothing changed.")] = False,
) -> None:
    """Start it if need be, and deploy the stacks with the CDK."""
    aws = LocalAws(root.absolute())
    try:
        changed = deploy_stacks(aws, aws.up(port), say=_say, force=force)
    except LeaseholdError as error:
        raise _fail(error) from None
    _say("deployed" if changed else "what is deployed is up to date")


@app.command()
def status(root: Root = HERE) -> None:
    """Say whether it runs, and what is deployed."""
    running = _running(LocalAws(root.absolute()))
    print(f"running on {running.endpoint}, process {running.pid}")
    for name, state in stacks(running).items():
        print(f"stack    {name}  {state}")
    for name in functions(running):
        print(f"function {name}")


@app.command()
def logs(
    function: Annotated[str | None, typer.Argument(help="One function, e.g. poller; all by default.")] = None,
    root: Root = HERE,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
) -> None:
    """Print what the functions logged."""
    running = _running(LocalAws(root.absolute()))
    after = 0
    seen: set[tuple[str, int, str]] = set()
    while True:
        for line in log_lines(running, function, after_millis=after):
            key = (line.function, line.at_millis, line.text)
            if key not in seen:
                seen.add(key)
                after = max(after, line.at_millis)
                print(f"{line.function}  {line.text}")
        if not follow:
            return
        time.sleep(1)


@app.command()
def invoke(
    function: Annotated[str, typer.Argument(help="The function, e.g. poller.")],
    event: Annotated[Path, typer.Option(help="A file with the event, e.g. events/poller_tick.json.")],
    root: Root = HERE,
) -> None:
    """Call a deployed function with an event of your own and print its answer."""
    running = _running(LocalAws(root.absolute()))
    try:
        print(json.dumps(call(running, function, json.loads(event.read_text())), indent=2))
    except (OSError, ValueError) as error:
        print(f"{event} is not a readable event: {error}", file=sys.stderr)
        raise typer.Exit(EXIT_UNUSABLE) from None


@app.command()
def down(root: Root = HERE) -> None:
    """Stop it and remove everything that it kept."""
    stopped = LocalAws(root.absolute()).down()
    _say("stopped, and its files are gone" if stopped else "it was not running")
