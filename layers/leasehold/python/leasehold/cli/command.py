"""Operators' commands: each has the options that say which queue it is about, `--json`, and an example.

A parameter whose type is a dataclass stands for the dataclass's fields, each an option: what several commands have in
common is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperGroup

from leasehold.cli.exits import told
from leasehold.cli.session import FOR_ACTIONS, Session, SharedOptions

_CONTEXT = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)
_SHARED = Parameter("shared", Parameter.KEYWORD_ONLY, annotation=SharedOptions)


def command[**Given](app: typer.Typer, example: str) -> Callable[[Callable[Given, None]], Callable[Given, None]]:
    """Register a function under its own name; its first parameter is the Session, the others are the command's own."""

    def register(function: Callable[Given, None]) -> Callable[Given, None]:
        session, *own = signature(function, eval_str=True).parameters.values()
        parameters, unused = [*own, _SHARED], FOR_ACTIONS.difference(get_args(session.annotation))
        groups: dict[str, Any] = {each.name: each.annotation for each in parameters if is_dataclass(each.annotation)}

        def run(context: typer.Context, **given: Any) -> None:
            for each, group in groups.items():
                own = {option.name for option in fields(group)} & given.keys()
                given[each] = group(**{name: given.pop(name) for name in own})
            shared = given.pop(_SHARED.name)
            with told(as_json=shared.as_json):
                function((context.obj or Session)(shared), **given)  # type: ignore[arg-type]

        options = [option for each in parameters for option in _options(each) if option.name not in unused]
        run.__signature__ = Signature([_CONTEXT, *options])  # type: ignore[attr-defined]
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        app.command(function.__name__.strip("_").replace("_", "-"), epilog=f"Example: {example}")(run)
        return function

    return register


def _options(parameter: Parameter) -> Iterator[Parameter]:
    """The fields of a dataclass as parameters; of anything else, itself."""
    group = parameter.annotation
    if not is_dataclass(group):
        yield parameter.replace(kind=Parameter.KEYWORD_ONLY)
        return
    hints = get_type_hints(group, include_extras=True)
    for each in fields(group):
        hint = hints[each.name]
        declared = Annotated[hint, each.metadata["option"]] if "option" in each.metadata else hint
        yield Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=declared)


class ShowsByDefault(TyperGroup):
    """A group of commands about one thing: what is no command of it, and not nearly one, is a thing to `show`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if word not in self.commands and not word.startswith("-") and not get_close_matches(word, self.commands):
            args = ["show", *args]
        return super().resolve_command(ctx, args)
