"""A formatted traceback as Sentry's exceptions, so that a report has frames to group by and to click on."""

from __future__ import annotations

import re
from typing import Any

_CHAINED = re.compile(
    r"\n\n(?:During handling of the above exception, another exception occurred"
    r"|The above exception was the direct cause of the following exception):\n\n"
)
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+), in (?P<function>.*)$')
_RAISED = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<value>.*))?$", re.DOTALL)
_MARKERS = re.compile(r"^[\s~^]*$")

type Exceptions = list[dict[str, Any]]


def exceptions_of(text: str) -> Exceptions | None:
    """The exceptions of a traceback, the cause before its effect; None where the text is no plain traceback."""
    found = [_exception(part) for part in _CHAINED.split(text.strip("\n"))]
    # The last is what ended the run; a cause whose beginning was cut off is left out.
    if not found or found[-1] is None:
        return None
    return [each for each in found if each is not None]


def _exception(part: str) -> dict[str, Any] | None:
    lines = part.split("\n")
    frames: list[dict[str, Any]] = []
    for number, line in enumerate(lines):
        if frame := _FRAME.match(line):
            frames.append(_frame(frame, lines[number + 1 : number + 2]))
        elif frames and line and not line.startswith(" "):
            raised = _RAISED.match("\n".join(lines[number:]))
            if raised is None:
                return None
            return {
                "type": raised["type"].rpartition(".")[2],
                "module": raised["type"].rpartition(".")[0] or None,
                "value": raised["value"] or "",
                "mechanism": {"type": "leasehold", "handled": True},
                "stacktrace": {"frames": frames},
            }
    return None


def _frame(frame: re.Match[str], following: list[str]) -> dict[str, Any]:
    context = following[0].strip() if following and following[0].startswith("    ") else None
    return {
        "filename": frame["file"].rpartition("/")[2],
        "abs_path": frame["file"],
        "lineno": int(frame["line"]),
        "function": frame["function"],
        **({"context_line": context} if context and not _MARKERS.match(context) else {}),
    }
