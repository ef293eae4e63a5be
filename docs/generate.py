"""Write the parts of docs/state-machine.md that follow from the transition table, and docs/openapi.json.

    .venv/bin/python docs/generate.py        # `make docs` runs this and the others

Tests compare them with what this makes, so that they cannot drift apart.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

if __name__ == "__main__":
    # Started as a file, Python knows this folder and not the one that it is in.
    sys.path.insert(0, str(Path(__file__).parent.parent))

from docs import filling
from leasehold.kernel.table import Above, After, AnyOf, Equals, Exists, Missing, NotAfter, OneOf, Seen
from leasehold.kernel.transitions import ENDED, RUNNING, TRANSITIONS, WAITING, JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leasehold.kernel.table import Condition
    from leasehold.kernel.transitions import Transition

PAGE = Path(__file__).parent / "state-machine.md"
OPENAPI = Path(__file__).parent / "openapi.json"
_GROUPS = ((WAITING | RUNNING, "not ended"), (WAITING, "waiting"), (ENDED, "ended"))


def diagram() -> str:
    """Every change of state as an arrow, all transitions between the same two states on one."""
    names: dict[tuple[str, str], list[str]] = {}
    for step in TRANSITIONS:
        for source in sorted(step.sources) if step.target else ():
            names.setdefault((str(source), str(step.target)), []).append(step.name)
    arrows = [f"    {source} --> {target}: {', '.join(steps)}" for (source, target), steps in names.items()]
    ends = [f"    {status} --> [*]" for status in JobStatus if status in ENDED]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> pending: enqueue", *arrows, *ends, "```"])


def table() -> str:
    head = "| transition | by | from | to | only if | sets | may set | adds | removes |"
    return "\n".join([head, "| --- " * 9 + "|", *map(_row, TRANSITIONS)])


def _row(step: Transition) -> str:
    cells = [
        f"`{step.name}`",
        ", ".join(step.by),
        _states(step.sources),
        str(step.target or "(same)"),
        "; ".join(_condition(guard) for guard in step.guards) or "-",
        _names(step.sets),
        _names(step.may_set),
        ", ".join(f"`{name}` {amount:+d}" for name, amount in step.adds) or "-",
        _names(step.removes - step.sets),
    ]
    return f"| {' | '.join(cells)} |"


def _states(states: frozenset[JobStatus]) -> str:
    named = next((name for group, name in _GROUPS if states == group), None)
    return named or ", ".join(sorted(states))


def _condition(condition: Condition) -> str:
    match condition:
        case Exists(attribute):
            return f"`{attribute}` is set"
        case Missing(attribute):
            return f"no `{attribute}`"
        case Equals(attribute, value):
            return f"`{attribute}` is {_value(value)}"
        case OneOf(attribute, values):
            return f"`{attribute}` is one of {', '.join(map(_value, values))}"
        case After(attribute, value):
            return f"`{attribute}` > {_value(value)}"
        case NotAfter(attribute, value):
            return f"`{attribute}` <= {_value(value)}"
        case Above(attribute, least):
            return f"`{attribute}` > {least}"
        case AnyOf(conditions):
            return f"({' or '.join(map(_condition, conditions))})"
        case _:
            assert_never(condition)


def _value(value: object) -> str:
    if isinstance(value, Seen):
        return {"now": "now", "until": "the new one"}.get(value.name, "as the writer saw it")
    return f"`{value}`"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "-"


def filled(page: str) -> str:
    """The page with its generated parts made anew."""
    return filling.filled(page, {"diagram": diagram(), "table": table()}, PAGE.name)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
    print(f"wrote {PAGE}")
    from leasehold.api.document import openapi_document

    OPENAPI.write_text(json.dumps(openapi_document(), indent=2) + "\n")
    print(f"wrote {OPENAPI}")
