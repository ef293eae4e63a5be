"""The commands. A module is imported for the command that is typed: help and completion import them all."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from leasehold.cli.command import BUILD, LOOK, OPERATE
from leasehold.cli.front import Front

if TYPE_CHECKING:
    from collections.abc import Sequence

# Where a command, or a group of them with its panel, is: in the order in which help shows them.
_PLACES: tuple[tuple[str, str, str | None], ...] = (
    ("status", "operating.status", None),
    ("top", "operating.top", None),
    ("console", "operating.console", None),
    ("jobs queue", "operating.jobs", None),
    ("job", "operating.job", LOOK),
    ("logs", "operating.logs", None),
    ("audit", "operating.audit", LOOK),
    ("enqueue", "operating.enqueue", None),
    ("cancel retry", "operating.job:verbs", None),
    ("dead-letters", "operating.dead_letters", OPERATE),
    ("schedules", "operating.schedules", OPERATE),
    ("templates", "operating.templates", OPERATE),
    ("groups", "operating.groups", OPERATE),
    ("halt pause resume", "operating.control", None),
    ("verify", "operating.verify", None),
    ("restore", "operating.restore", OPERATE),
    ("local", "local", BUILD),
    ("dev", "local:dev_app", None),
    ("new", "new", BUILD),
    ("init", "init", None),
    ("demo", "demo", None),
)


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """All that is needed for what was typed: the command that it begins with, or every one of them."""
    first = arguments[0] if arguments else ""
    wanted = [each for each in _PLACES if first in each[0].split()] or _PLACES
    made = typer.Typer(
        cls=Front,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Leasehold: a serverless scheduled job queue for AWS.",
    )
    for name, place, panel in wanted:
        module, _, attribute = place.partition(":")
        part = getattr(import_module(f"leasehold.cli.{module}"), attribute or "app")
        if panel is None:
            made.add_typer(part)
        else:
            made.add_typer(part, name=name, rich_help_panel=panel)
    if wanted is _PLACES:
        made.command(rich_help_panel=BUILD)(version)
    else:
        # A single command would be taken for the whole program.
        made.callback()(lambda: None)
    return made


def version() -> None:
    """Print the version."""
    from importlib.metadata import version as version_of

    print(version_of("leasehold"))


def __getattr__(name: str) -> Any:
    if name == "app":
        return app_for(())
    raise AttributeError(name)
