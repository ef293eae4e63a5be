"""Operators' commands: each has the options that say which queue it is about, `--json`, and an example.

A parameter whose type is a dataclass stands for the dataclass's fields, each an option: what several commands have in
common is written once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer
from typer import Option
from typer.core import TyperGroup

from leasehold.cli.exits import told
from leasehold.cli.output import Output
from leasehold.cli.session import Connection, Session, World

_CONTEXT = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
_SHARED = (
    Parameter(
        "as_json",
        Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, Option("--json", help="For programs: the answer, and errors, as JSON.")],
    ),
    Parameter("connection", Parameter.KEYWORD_ONLY, annotation=Connection),
)


def command[**Given](
    app: typer.Typer, name: str, *, example: str
) -> Callable[[Callable[Given, None]], Callable[Given, None]]:
    """Register a function whose first parameter is the Session; the others are the command's own."""

    def register(function: Callable[Given, None]) -> Callable[Given, None]:
        _, *own = signature(function, eval_str=True).parameters.values()
        parameters = (*own, *_SHARED)
        groups: dict[str, Any] = {each.name: each.annotation for each in parameters if is_dataclass(each.annotation)}

        def run(context: typer.Context, *, as_json: bool, **given: Any) -> None:
            for each, group in groups.items():
                given[each] = group(**{option.name: given.pop(option.name) for option in fields(group)})
            world = context.obj if isinstance(context.obj, World) else World()
            with told(as_json=as_json):
                function(Session(world, given.pop("connection"), Output(as_json=as_json)), **given)  # type: ignore[arg-type]

        options: list[Parameter] = []
        for each in parameters:
            options += _options(groups[each.name]) if each.name in groups else [each]
        keywords = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in options]
        run.__signature__ = Signature([_CONTEXT, *keywords])  # type: ignore[attr-defined]
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        app.command(name, epilog=f"Example: {example}")(run)
        return function

    return register


@cache
def _options(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in fields(group)
    ]


class ShowsByDefault(TyperGroup):
    """A group of commands about one thing: what is no command of it, and not nearly one, is a thing to `show`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if word not in self.commands and not word.startswith("-") and not get_close_matches(word, self.commands):
            args = ["show", *args]
        return super().resolve_command(ctx, args)
