"""Operators' commands: each has the options that say which queue it is about, `--json`, and an example."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from leasehold.cli.connection import Connection
from leasehold.cli.failures import told
from leasehold.cli.session import Session, World
from leasehold.cli.terminal.output import Output

# Where the list of all commands shows them.
LOOK, OPERATE, BUILD = "See what happens", "Operate", "Build and try"

_PANEL = "Which queue"


def _connection_options(
    *,
    queue: Annotated[
        str | None,
        typer.Option(
            "--queue",
            envvar="LEASEHOLD_QUEUE",
            rich_help_panel=_PANEL,
            help="The name of a deployed queue, e.g. dev: AWS is asked where its tables are.",
        ),
    ] = None,
    local: Annotated[
        bool,
        typer.Option(
            "--local/--no-local",
            envvar="LEASEHOLD_LOCAL",
            rich_help_panel=_PANEL,
            help="The local AWS that runs on this machine.",
        ),
    ] = False,
    root: Annotated[
        Path, typer.Option(rich_help_panel=_PANEL, help="The project's folder, for --local.", show_default=False)
    ] = Path(),
    jobs_table: Annotated[
        str | None,
        typer.Option(envvar="LEASEHOLD_JOBS_TABLE", rich_help_panel=_PANEL, help="The name of the table of jobs."),
    ] = None,
    dead_letters_table: Annotated[
        str | None,
        typer.Option(
            envvar="LEASEHOLD_DEAD_LETTERS_TABLE",
            rich_help_panel=_PANEL,
            help="The name of the table of dead letters.",
        ),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(rich_help_panel=_PANEL, help="The AWS profile; by default as the AWS CLI finds it.")
    ] = None,
    region: Annotated[
        str | None,
        # boto3 itself reads AWS_DEFAULT_REGION only.
        typer.Option(
            envvar="AWS_REGION", rich_help_panel=_PANEL, help="The AWS region; by default as the AWS CLI finds it."
        ),
    ] = None,
    endpoint_url: Annotated[
        str | None, typer.Option(rich_help_panel=_PANEL, help="Another endpoint than AWS's own.")
    ] = None,
) -> Connection:
    return Connection(
        queue_name=queue,
        jobs_table=jobs_table,
        dead_letters_table=dead_letters_table,
        profile=profile,
        region=region,
        endpoint_url=endpoint_url,
        is_local=local,
        root=root,
    )


_CONTEXT = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
_AS_JSON = Parameter(
    "as_json",
    Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--json", help="For programs: the answer, and errors, as JSON.")],
)
_CONNECTION = signature(_connection_options, eval_str=True).parameters


def command[**Given](
    app: typer.Typer, name: str | None = None, *, example: str, **settings: Any
) -> Callable[[Callable[Given, None]], Callable[Given, None]]:
    """Register a function whose first parameter is the Session; the others are the command's own."""

    def register(function: Callable[Given, None]) -> Callable[Given, None]:
        _, *own = signature(function, eval_str=True).parameters.values()

        def run(context: typer.Context, *, as_json: bool, **given: Any) -> None:
            connection = _connection_options(**{each: given.pop(each) for each in _CONNECTION})
            world = context.obj if isinstance(context.obj, World) else World()
            with told(as_json=as_json):
                function(Session(world, connection, Output(as_json=as_json)), **given)  # type: ignore[arg-type]

        options = [*own, _AS_JSON, *_CONNECTION.values()]
        keywords = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in options]
        run.__signature__ = Signature([_CONTEXT, *keywords])  # type: ignore[attr-defined]
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        app.command(name, epilog=f"Example: {example}", **settings)(run)
        return function

    return register
