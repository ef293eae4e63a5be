"""The commands, and their root. A module is imported for the command that is typed: help and completion import all."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from leasehold.cli import exits

# Where the list of all commands shows them.
LOOK, OPERATE, BUILD = "See what happens", "Operate", "Build and try"
# Where commands, or a group of them, are and are listed: in the order in which help shows them.
_PLACES: tuple[tuple[str, str, str], ...] = (
    ("status top console", "operating.status:app", LOOK),
    ("jobs queue", "operating.jobs:app", LOOK),
    ("job", "operating.job:app", LOOK),
    ("logs", "operating.jobs:logs_app", LOOK),
    ("audit", "operating.audit:app", LOOK),
    ("enqueue cancel retry", "operating.verbs:app", OPERATE),
    ("dead-letters", "operating.dead_letters:app", OPERATE),
    ("schedules", "operating.schedules:app", OPERATE),
    ("templates", "operating.templates:app", OPERATE),
    ("groups", "operating.groups:app", OPERATE),
    ("halt pause resume", "operating.verbs:control_app", OPERATE),
    ("verify", "operating.verify:app", OPERATE),
    ("restore", "operating.restore:app", OPERATE),
    ("local", "local:app", BUILD),
    ("dev", "local:dev_app", BUILD),
    ("new", "new:app", BUILD),
    ("init", "new:init_app", BUILD),
    ("demo", "local:demo_app", BUILD),
)


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """All that is needed for what was typed: the command that it begins with, or every one of them."""
    first = arguments[0] if arguments else ""
    wanted = [each for each in _PLACES if first in each[0].split()] or _PLACES
    made = typer.Typer(
        cls=Root,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Leasehold: a serverless scheduled job queue for AWS.",
    )
    for names, place, panel in wanted:
        module, _, attribute = place.partition(":")
        part: typer.Typer = getattr(import_module(f"leasehold.cli.{module}"), attribute)
        if part.info.no_args_is_help is True:  # a group: its commands come after its name
            made.add_typer(part, name=names, rich_help_panel=panel)
            continue
        for each in part.registered_commands:
            each.rich_help_panel = panel
        made.add_typer(part)
    # Always: a single command would be taken for the whole program.
    made.command(rich_help_panel=BUILD)(version)
    return made


def version() -> None:
    """Print the version."""
    from importlib.metadata import version as version_of

    print(version_of("leasehold"))


def __getattr__(name: str) -> Any:
    if name == "app":
        return app_for(())
    raise AttributeError(name)


# typer exports one of its usage errors, not what they have in common.
UsageError: Any = typer.BadParameter.__bases__[0]


class Root(TyperGroup):
    """What was written wrongly is told like every other failure."""

    def main(self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **settings: Any) -> Any:  # type: ignore[override]
        run = partial(super().main, standalone_mode=False, **settings)
        if not standalone_mode:
            return run(args=args)
        given = sys.argv[1:] if args is None else list(args)
        try:
            exit_code = run(args=given)
            sys.stdout.flush()
            sys.exit(exit_code)
        except BrokenPipeError:
            # Whoever read along has seen enough. What is left would be complained about at the end of the process.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(exits.UNEXPECTED)
        except UsageError as error:
            sys.exit(_tell_usage(error, as_json="--json" in given))
        except typer.Abort:
            sys.exit(exits.INTERRUPTED)


def _tell_usage(error: Any, *, as_json: bool) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return exits.USAGE
    path = error.ctx.command_path if error.ctx else "leasehold"
    exits.tell("usage", error.format_message(), exits.USAGE, next_step=f"{path} --help", as_json=as_json)
    return exits.USAGE
