"""`leasehold local`, `dev` and `demo`: the deployed stacks on this machine, changed at once, and seen at work."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from leasehold.cli import exits
from leasehold.cli.exits import told_plainly
from leasehold.cli.options import DEFAULT_PORT, HERE, Port, Root
from leasehold.cli.output import Steps, console_for
from leasehold.cli.session import running_at
from leasehold.cli.terminal import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from leasehold.aws.job_logs import JobLogLine
    from leasehold.local.aws.instance import LocalAws, Running
    from leasehold.local.demo.demo import Report

app = typer.Typer(no_args_is_help=True, help="The local AWS of this machine: no account, no docker.")
dev_app = typer.Typer()
demo_app = typer.Typer()

_TERMINATED = 128 + signal.SIGTERM
_LOOK_EVERY_SECONDS = 1.0


@app.command()
def up(root: Root = HERE, port: Port = DEFAULT_PORT) -> None:
    """Start the local AWS, or find it started."""
    with told_plainly():
        running = _local_aws(root).up(port, say=print)
        print(f"the local AWS listens on {running.endpoint} (process {running.pid})")
        print("what is deployed there can be seen in a browser: leasehold console --local")


@app.command()
def deploy(
    root: Root = HERE,
    port: Port = DEFAULT_PORT,
    *,
    force: Annotated[bool, Option("--force", help="Deploy even if nothing changed.")] = False,
) -> None:
    """Start it if need be, and deploy the stacks with the CDK."""
    with told_plainly(), Steps(console_for(sys.stdout)) as steps:
        for line in _left_behind(_deployed(_local_aws(root), port, steps, force=force)):
            steps.say(line)
        steps.say("to see it in a browser: leasehold console --local")


def _deployed(aws: LocalAws, port: int, steps: Steps, *, force: bool = False) -> Running:
    from leasehold.local.aws.deployment import deploy as deploy_stacks

    running = aws.up(port, say=steps.say)
    steps.say(f"the local AWS listens on {running.endpoint}")
    changed = deploy_stacks(aws, running, say=steps.say, hear=steps.hear, force=force)
    steps.say("deployed" if changed else "what is deployed is up to date")
    return running


def _left_behind(running: Running) -> Iterator[str]:
    """Types that are not deployed any more, and still have jobs."""
    from leasehold.aws.discovery import all_published
    from leasehold.local.aws.connection import open_queue
    from leasehold.local.aws.inspection import client
    from leasehold.schemas.publish import SAMPLE, waiting_jobs

    for queue in all_published(client(running, "ssm")):
        services = open_queue(running, queue.queue_name).services
        for name in sorted(services.deployment.registry().retired):
            waiting = len(waiting_jobs(name, services))
            if waiting:
                yield f"{name} is not deployed any more: {waiting}{' or more' if waiting == SAMPLE else ''} jobs wait"


@app.command()
def status(root: Root = HERE) -> None:
    """Say whether it runs, and what is deployed."""
    from leasehold.local.aws.inspection import api_hosts, deployed_functions, stacks

    with told_plainly():
        running = running_at(root)
        print(f"running on {running.endpoint}, process {running.pid}")
        for name, state in stacks(running).items():
            print(f"stack    {name}  {state}")
        for each in deployed_functions(running):
            print(f"function {each.name}")
        for name, host in api_hosts(running).items():
            # Its own name resolves in few programs; the address of this machine does in all.
            print(f"API      {name}  {running.endpoint}/api with the header 'Host: {host}'")


@app.command()
def logs(
    function: Annotated[str | None, Argument(help="One function, e.g. poller; all by default.")] = None,
    root: Root = HERE,
    *,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    raw: Annotated[bool, Option("--raw", help="As they were written, also the lines of Lambda itself.")] = False,
) -> None:
    """Print what the functions logged: time, level, function, message."""
    from leasehold.aws.job_logs import is_lambdas_own, read_line
    from leasehold.local.aws.inspection import log_lines, looks

    with told_plainly():
        running = running_at(root)
        for new in looks(lambda after: log_lines(running, function, after_millis=after)):
            for line in new:
                if raw:
                    print(f"{line.function}  {clean(line.text)}", flush=follow)
                elif not is_lambdas_own(line.text):
                    _print_line(read_line(line))
            if not follow:
                return
            time.sleep(_LOOK_EVERY_SECONDS)


def _print_line(line: JobLogLine) -> None:
    from leasehold.cli.operating.jobs import shown

    for each in shown(line):
        print(clean(each), flush=True)


@dev_app.command()
def dev(root: Root = HERE, port: Port = DEFAULT_PORT) -> None:
    """Watch the job folders: changed code goes onto the local AWS at once, and logs and job ends are shown.

    It deploys once, if need be; from then on only code is replaced. Settings in job.toml need `leasehold local deploy`.
    """
    from leasehold.local.dev import DevLoop, watch

    with told_plainly():
        aws = _local_aws(root)
        with Steps(console_for(sys.stdout)) as steps:
            running = _deployed(aws, port, steps)
        loop = DevLoop(aws, running)
        folders = ", ".join(each.job_type for each in loop.functions)
        print(f"watching {folders}; Ctrl-C ends it, and the local AWS goes on", flush=True)
        watch(loop, lambda text: print(f"==> {text}", flush=True), _print_line)


@app.command()
def invoke(
    function: Annotated[str, Argument(help="The function, e.g. poller.")],
    event: Annotated[Path, Option(help="A file with the event, e.g. events/poller_tick.json.")],
    root: Root = HERE,
) -> None:
    """Call a deployed function with an event of your own and print its answer; exits with 1 if it failed."""
    from leasehold.kernel.errors import InvalidOptionError
    from leasehold.local.aws.inspection import invoke as call

    with told_plainly():
        try:
            content = json.loads(event.read_text())
        except (OSError, ValueError) as error:
            raise InvalidOptionError(
                str(event), f"this is no readable event ({error})", "Name a file with JSON, e.g. one of events/."
            ) from None
        answer, is_error = call(running_at(root), function, content)
        print(json.dumps(answer, indent=2))
        if is_error:
            raise typer.Exit(1)


@app.command()
def down(root: Root = HERE) -> None:
    """Stop it and remove everything that it kept."""
    with told_plainly():
        stopped = _local_aws(root).down()
        print("stopped, and its files are gone" if stopped else "it was not running")


def _local_aws(root: Path) -> LocalAws:
    from leasehold.local.aws.instance import LocalAws

    return LocalAws(root.absolute())


@demo_app.command()
def demo(
    root: Root = HERE,
    port: Port = DEFAULT_PORT,
    *,
    as_json: Annotated[
        bool, Option("--json", help="Print a report for programs; what happens is told on standard error.")
    ] = False,
    down: Annotated[bool, Option("--down", help="Stop the local AWS at the end.")] = False,
) -> None:
    """Deploy to a local AWS, see a realistic mix of jobs run there, and check how each ended. No account is needed.

    Exits with 0 only if every job ended as it should, 1 if one did not, 2 if the demo could not run.
    """
    from leasehold.local.demo import view

    # A report for programs is alone on the standard output.
    console = console_for(sys.stderr if as_json else sys.stdout)
    # Left to itself, SIGTERM would end this process without a word, and what it started would go on.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    with told_plainly("The demo could not run: "):
        aws = _local_aws(root)
        try:
            report = _run_demo(aws, port, console)
        except KeyboardInterrupt:
            print("Interrupted. If the local AWS is up, it stays; stop it with: leasehold local down", file=sys.stderr)
            raise
        finally:
            if down:
                aws.down()
    if as_json:
        print(view.as_json(report))
    else:
        view.tell(report, console, is_stopped=down)
    raise typer.Exit(0 if report.is_good else exits.UNEXPECTED)


def _run_demo(aws: LocalAws, port: int, console: Console) -> Report:
    from leasehold.local.aws.connection import open_queue
    from leasehold.local.demo import mix, view
    from leasehold.local.demo.demo import run_demo

    with Steps(console) as steps:
        steps.say("starting the local AWS")
        running = _deployed(aws, port, steps)
    shown = view.Dashboard(console) if console.is_terminal else view.Lines(console)
    return run_demo(open_queue(running), mix.CASES, shown)
