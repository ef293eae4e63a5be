"""Take payload values out of an error's text before it leaves the account.

A handler may put a payload value into the message that it raises. Values of four characters and more are found as they
are, as Python's repr shows them and as JSON writes them, also when a long one was cut off. A value that the handler
changed first (upper case, a hash, a part of it) cannot be found: what a handler raises is in the end its own choice.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from leasehold.domain.payload import Json

# Shorter values ("eu", 42) occur in any text by chance.
SHORTEST = 4
# This much of a long value gives it away, whatever its message left out of the rest.
_HEAD = 32
_TRUNCATED = "…"
# Where the code is, is no payload: a line number may well equal one of its values.
_FRAME = re.compile(r'\s+File ".*", line \d+')


def redacted(text: str, payload: Json, allowed: Collection[str] = ()) -> str:
    """
    >>> redacted("ValueError: no user ada@example.com", {"email": "ada@example.com"})
    'ValueError: no user [payload.email]'
    """
    if text.startswith(_TRUNCATED) and "\n" in text:
        # The cut may have gone through the middle of a value.
        text = f"{_TRUNCATED}\n{text.partition('\n')[2]}"
    secrets = _secrets(payload, allowed)
    return "\n".join(line if _FRAME.match(line) else _without(line, secrets) for line in text.split("\n"))


def _without(line: str, secrets: list[tuple[str, str]]) -> str:
    for form, mark in secrets:
        if len(form) <= _HEAD:
            line = line.replace(form, mark)
            continue
        start = line.find(form[:_HEAD])
        while start >= 0:
            length = _shared(line[start:], form)
            line = line[:start] + mark + line[start + length :]
            start = line.find(form[:_HEAD], start + len(mark))
    return line


def _shared(text: str, form: str) -> int:
    """How many characters both begin with."""
    pairs = zip(text, form, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(text), len(form)))


def _secrets(payload: Json, allowed: Collection[str]) -> list[tuple[str, str]]:
    fields: dict[str, Json] = payload if isinstance(payload, dict) else {"": payload}
    shown = {form for name in allowed if name in fields for value in _leaves(fields[name]) for form in _forms(value)}
    hidden = {
        form: f"[payload.{name}]" if name else "[payload]"
        for name, value in fields.items()
        if name not in allowed
        for leaf in _leaves(value)
        for form in _forms(leaf)
        if form not in shown
    }
    # The longest first: a value may be part of another.
    return sorted(hidden.items(), key=lambda item: -len(item[0]))


def _leaves(value: Json) -> Iterator[Json]:
    match value:
        case dict():
            for each in value.values():
                yield from _leaves(each)
        case list():
            for each in value:
                yield from _leaves(each)
        case None | bool():
            return
        case _:
            yield value


def _forms(value: Json) -> set[str]:
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    if not isinstance(value, str):
        return {form for form in (text, str(value), repr(value)) if len(form) >= SHORTEST}
    # The error's text is searched line by line, so a value of several lines is several values.
    written = (*text.splitlines(), repr(text)[1:-1], json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    return {form for form in written if len(form.strip()) >= SHORTEST}
