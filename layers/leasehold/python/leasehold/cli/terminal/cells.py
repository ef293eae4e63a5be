"""One value as people read it. Values come from anywhere: nothing in them may speak to the terminal."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta

NOTHING = "-"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


def clean(text: str) -> str:
    """Without control characters: an error message must not be able to move the cursor, or hide what follows.

    >>> clean("done\\x1b[2J\\nreally")
    'done\\\\x1b[2J really'
    """
    spaced = " ".join(text.splitlines())
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in spaced)


def cell(value: object) -> str:
    if value is None or value in ("", [], {}):
        return NOTHING
    match value:
        case bool():
            return "yes" if value else "no"
        case str() if is_time(value):
            return short_time(value)
        case list() if all(isinstance(each, str) for each in value):
            return ", ".join(map(cell, value))
        case list() | dict():
            return clean(json.dumps(value, ensure_ascii=False))
        case float():
            return f"{value:g}"
        case _:
            return clean(str(value))


def is_time(text: str) -> bool:
    """
    >>> is_time("2026-11-15T09:30:00.000Z"), is_time("looks-like-Tone-but-notZ")
    (True, False)
    """
    return _TIME.fullmatch(text) is not None


def short_time(text: str) -> str:
    """
    >>> short_time("2026-11-15T09:30:00.000Z")
    '2026-11-15 09:30:00Z'
    """
    return f"{text[:10]} {text[11:19]}Z"


def ago(text: object, now: datetime) -> str:
    """How long ago a time of a document was."""
    moment = _moment(text)
    return cell(text) if moment is None else f"{length(max(now - moment, timedelta(0)))} ago"


def relative(text: object, now: datetime) -> str:
    """
    >>> relative("2026-11-15T09:30:00.000Z", datetime.fromisoformat("2026-11-15T07:30:00Z"))
    'in 2h'
    """
    moment = _moment(text)
    return f"in {length(moment - now)}" if moment is not None and moment > now else ago(text, now)


def _moment(text: object) -> datetime | None:
    """A time of a document; what only looks like one is shown as it is."""
    return datetime.fromisoformat(text) if isinstance(text, str) and is_time(text) else None


def length(duration: timedelta) -> str:
    """In its two largest units at most.

    >>> length(timedelta(hours=2, minutes=5, seconds=3)), length(timedelta(seconds=0.25))
    ('2h 5m', '0.2s')
    """
    seconds = duration.total_seconds()
    if seconds < 10:
        return f"{seconds:.1f}s".replace(".0s", "s")
    left, parts = int(seconds), []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        parts += [f"{count}{unit}"] if count else []
    return " ".join(parts[:2])


def priority_name(value: object) -> str:
    from leasehold.kernel.keys import Priority

    return Priority(value).name.lower() if isinstance(value, int) else NOTHING
