"""Write docs/sdk.md: every name that `leasehold` exports, from its signature and its docstring.

    .venv/bin/python docs/generate_sdk.py        # `make docs` runs this and the others

A test compares the page with what this makes, so that the two cannot drift apart.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from enum import Enum
from pathlib import Path

import leasehold
from leasehold.bulk import sdk
from leasehold.bulk.sdk import BulkVerbs
from leasehold.operate.verbs import QueueVerbs
from leasehold.testing import LeaseholdTest

PAGE = Path(__file__).parent / "sdk.md"
_INTRODUCTION = """\
# SDK reference

Every name that `from leasehold import ...` gives, from its own docstring. Examples with `queue` are of a connected one:
`queue = Queue.connect("my-jobs")`. In tests, the fixture `leasehold` brings a queue in memory: [testing](testing.md).
"""
# What belongs to a queue is reached through it, so that a reader finds it there.
_PARTS_OF_QUEUE = ("schedules", "templates", "groups", "webhooks", "operator")


def page() -> str:
    sections = [_section(name, getattr(leasehold, name)) for name in sorted(leasehold.__all__, key=str.lower)]
    return "\n".join([_INTRODUCTION, *sections])


def _section(name: str, value: object) -> str:
    lines = [f"## `{name}`", "", *_described(value)]
    if isinstance(value, type) and issubclass(value, Enum):
        lines += [f"Values: {', '.join(f'`{each.name}`' for each in value)}.", ""]
    elif isinstance(value, type):
        for method, function in _methods(value):
            lines += [f"### `{name}.{method}{_signature(function)}`", "", *_described(function)]
        if value is leasehold.Queue:
            lines += [part for each in _PARTS_OF_QUEUE for part in _part(each)]
    elif callable(value):
        lines[0] = f"## `{name}{_signature(value)}`"
    return "\n".join(lines)


def _part(name: str) -> list[str]:
    """What hangs on a queue, by the class that its property makes."""
    test = LeaseholdTest()
    lines = [f"### `Queue.{name}`", "", *_described(getattr(leasehold.Queue, name).fget)]
    for method, each in _methods(type(getattr(test.queue, name))):
        lines += [f"#### `queue.{name}.{method}{_signature(each)}`", "", *_described(each)]
    return lines


def _methods(kind: type) -> list[tuple[str, object]]:
    """Those that a user calls: with a docstring, in the order of the code."""
    homes = [kind, BulkVerbs, QueueVerbs] if kind is leasehold.Queue else [kind]
    named = [(name, _function(each)) for home in homes for name, each in vars(home).items() if not name.startswith("_")]
    return [(name, each) for name, each in named if inspect.isfunction(each) and each.__doc__]


def _function(value: object) -> object:
    return value.__func__ if isinstance(value, classmethod | staticmethod) else value


def _signature(function: object) -> str:
    given = inspect.signature(function)  # type: ignore[arg-type]
    every = [named for each in given.parameters.values() for named in _unpacked(each)]
    shown = [each for each in every if each.name not in ("self", "cls")]
    text = str(
        given.replace(
            parameters=[each.replace(annotation=inspect.Parameter.empty) for each in shown],
            return_annotation=inspect.Signature.empty,
        )
    )
    shown_enums = re.sub(r"<(\w+)\.(\w+): [^>]*>", r"\1.\2", text)
    return re.sub(r"<[^()]*>? at 0x[0-9a-f]+>", "...", shown_enums).replace(" = ", "=")


def _unpacked(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Options that a function takes together, one by one; what each is by default, `NewJob` says."""
    together = re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation))
    options = getattr(sdk, together[1], None) if together else None
    if options is None:
        return [parameter]
    by_default = {each.name: each.default for each in fields(leasehold.NewJob)}
    names = [name for name in by_default if name in options.__annotations__]
    return [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=by_default[name]) for name in names]


def _described(value: object) -> list[str]:
    # Its own: what a class inherits from a library's is said there.
    own = vars(value).get("__doc__") if isinstance(value, type) else value.__doc__
    text = inspect.cleandoc(own or "")
    if text.startswith(f"{getattr(value, '__name__', '')}("):  # what dataclass writes by itself
        return []
    lines: list[str] = []
    is_code = False
    for line in text.splitlines():
        starts = line.startswith((">>>", "..."))
        if starts and not is_code:
            lines.append("```pycon")
        if is_code and not line.strip():
            lines.append("```")
        is_code = starts or (is_code and bool(line.strip()))
        shown = re.sub(r"\s+# doctest: \+SKIP", "", line)
        lines.append(shown if is_code else re.sub(r"^([a-z_]+): ", r"- `\1`: ", shown))
    return [*lines, *(["```"] if is_code else []), ""]


def main() -> None:
    PAGE.write_text(page())
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
