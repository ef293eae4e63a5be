"""The root of all commands: what was written wrongly is told like every other failure."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

import typer
from typer.core import TyperGroup

from leasehold.cli import exits
from leasehold.cli.failures import tell

# typer exports one of its usage errors, not what they have in common.
UsageError: Any = typer.BadParameter.__bases__[0]


class Front(TyperGroup):
    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        run = partial(
            super().main,
            prog_name=prog_name,
            complete_var=complete_var,
            standalone_mode=False,
            windows_expand_args=windows_expand_args,
            **extra,
        )
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
    tell("usage", error.format_message(), exits.USAGE, next_step=f"{path} --help", as_json=as_json)
    return exits.USAGE


class ShowsByDefault(TyperGroup):
    """A group of commands about one thing: what is no command of it, and not nearly one, is a thing to `show`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if word not in self.commands and not word.startswith("-") and not get_close_matches(word, self.commands):
            args = ["show", *args]
        return super().resolve_command(ctx, args)
