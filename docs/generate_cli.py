"""Write the parts of docs/cli.md that follow from the commands themselves.

    .venv/bin/python docs/generate_cli.py        # `make docs` runs this and the others

A test compares the page with what this makes, so that the two cannot drift apart.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.main import get_command

if __name__ == "__main__":
    # Started as a file, Python knows this folder and not the one that it is in.
    sys.path.insert(0, str(Path(__file__).parent.parent))

from docs import filling
from leasehold.cli.commands import app
from leasehold.cli.exits import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parent / "cli.md"
# Every operators' command has these; the page explains them once.
_SHARED = {
    *("--help", "--json", "--queue", "--local", "--root", "--jobs-table", "--dead-letters-table"),
    *("--profile", "--region", "--endpoint-url"),
}


def exit_codes() -> str:
    return "\n".join(
        ["| code | meaning |", "| --- | --- |", *(f"| {code} | {text} |" for code, text in MEANINGS.items())]
    )


def commands() -> str:
    return "\n\n".join(_section(path, command) for path, command in leaves(get_command(app)))


def leaves(command: Any, path: str = "leasehold") -> Iterator[tuple[str, Any]]:
    for name, each in command.commands.items():
        if hasattr(each, "commands"):
            yield from leaves(each, f"{path} {name}")
        else:
            yield f"{path} {name}", each


def _section(path: str, command: Any) -> str:
    is_operators = any("--queue" in each.opts for each in command.params)
    left_out = _SHARED if is_operators else {"--help"}
    own = [each for each in command.params if not left_out & set(each.opts)]
    arguments = [each for each in own if each.param_type_name == "argument"]
    usage = " ".join([path, *(_argument(each) for each in arguments)])
    lines = [f"### `{usage}`", "", command.help]
    example = (command.epilog or "").removeprefix("Example: ")
    if example:
        lines += ["", "```", example, "```"]
    if own:
        lines += ["", "| | |", "| --- | --- |", *(f"| `{_name(each)}` | {_help(each)} |" for each in own)]
    return "\n".join(lines)


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required or name.startswith("[") else f"[{name}]"


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper()).strip("[].")
    return ", ".join([*parameter.opts, *parameter.secondary_opts])


def _help(parameter: Any) -> str:
    text = str(parameter.help).replace("|", "\\|")
    return f"{text} **Required.**" if parameter.required and parameter.param_type_name == "option" else text


def filled(page: str) -> str:
    """The page with its generated parts made anew."""
    return filling.filled(page, {"exit codes": exit_codes(), "commands": commands()}, PAGE.name)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
    print(f"wrote {PAGE}")
