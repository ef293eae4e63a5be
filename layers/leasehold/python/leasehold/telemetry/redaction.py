"""Take payload values out of an error's text before it goes to a log, to Sentry or to a webhook's receiver.

A handler may put a payload value into the message that it raises. Values of four characters and more are found as they
are, as Python's repr shows them and as JSON writes them, also when a long one was cut off at its end or in its middle.
So are the keys of objects inside of the payload: they may be addresses as well as names. What pydantic quotes of its
input is left out. A value that the handler changed first (upper case, a hash, a part of it) cannot be found: what a
handler raises is in the end its own choice.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING

from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.job import Job
    from leasehold.kernel.payload import Json

# Shorter values ("eu", 42) occur in any text by chance.
SHORTEST = 4
# This much of a long value gives it away, whatever its message left out of the rest.
_HEAD = 32
_TRUNCATED = "…"
# Where the code is, is no payload: a line number may well equal one of its values.
_FRAME = re.compile(r'\s+File ".*", line \d+')
_PYDANTIC_INPUT = re.compile(r"input_value=(?P<value>.*), input_type=")
_NO_INPUT = "input_value=[payload], input_type="
_CUT = re.compile(r"\.\.\.|…")
# A field, as handlers and job.toml name it.
_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Secret:
    """A form in which a value may occur, and what stands in its place; `is_word`: not inside of a longer word."""

    form: str
    mark: str
    is_word: bool = False


def redacted(text: str, payload: Json, allowed: Collection[str] = ()) -> str:
    """
    >>> redacted("ValueError: no user ada@example.com", {"email": "ada@example.com"})
    'ValueError: no user [payload.email]'
    """
    if text.startswith(_TRUNCATED) and "\n" in text:
        # The cut may have gone through the middle of a value.
        text = f"{_TRUNCATED}\n{text.partition('\n')[2]}"
    secrets, shown = _secrets(payload, allowed)
    text = _PYDANTIC_INPUT.sub(lambda found: found[0] if found["value"] in shown else _NO_INPUT, text)
    return "\n".join(line if _FRAME.match(line) else _without(line, secrets) for line in text.split("\n"))


def without_payload(text: str, job: Job | DeadLetter) -> str:
    """The text without the values of its payload; only what was raised, if the payload cannot be read here."""
    try:
        return redacted(text, job.payload)
    except Exception:  # whatever kept its payload from being read
        raised = text.rstrip().rpartition("\n")[2].partition(":")[0]
        return f"{raised}: [not shown, since the payload was not read]"


def _without(line: str, secrets: list[_Secret]) -> str:
    for secret in secrets:
        form, mark = secret.form, secret.mark
        if secret.is_word:
            line = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", mark, line)
        elif len(form) <= _HEAD:
            line = line.replace(form, mark)
        else:
            line = _without_long(line, secret)
    return _without_cut(line, secrets) if _CUT.search(line) else line


def _without_long(line: str, secret: _Secret) -> str:
    form, mark = secret.form, secret.mark
    start = line.find(form[:_HEAD])
    while start >= 0:
        length = _shared(line[start:], form)
        line = line[:start] + mark + line[start + length :]
        start = line.find(form[:_HEAD], start + len(mark))
    return line


def _without_cut(line: str, secrets: list[_Secret]) -> str:
    """Without what is left of a value before and after the dots of whoever shortened it."""
    parts = [line]
    while (cut := _CUT.search(parts[-1])) is not None:
        rest = parts.pop()
        parts += [rest[: cut.start()], cut[0], rest[cut.end() :]]
    for place in range(1, len(parts), 2):
        parts[place - 1] = _without_end(parts[place - 1], secrets)
        parts[place + 1] = _without_start(parts[place + 1], secrets)
    return "".join(parts)


def _without_end(text: str, secrets: list[_Secret]) -> str:
    best = max(((_overlap(secret.form, text), secret.mark) for secret in secrets), default=(0, ""))
    return text[: -best[0]] + best[1] if best[0] >= SHORTEST else text


def _without_start(text: str, secrets: list[_Secret]) -> str:
    best = max(((_overlap(text, secret.form), secret.mark) for secret in secrets), default=(0, ""))
    return best[1] + text[best[0] :] if best[0] >= SHORTEST else text


def _overlap(begins: str, ends: str) -> int:
    """How many of the characters that one text begins with are those that the other ends with."""
    return next((size for size in range(min(len(begins), len(ends)), 0, -1) if ends.endswith(begins[:size])), 0)


def _shared(text: str, form: str) -> int:
    """How many characters both begin with."""
    pairs = zip(text, form, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(text), len(form)))


def _secrets(payload: Json, allowed: Collection[str]) -> tuple[list[_Secret], set[str]]:
    """What must not be shown, the longest first since a value may be part of another; and what may."""
    fields: dict[str, Json] = payload if isinstance(payload, dict) else {"": payload}
    values = {name: {form for leaf in _leaves(value) for form in _forms(leaf)} for name, value in fields.items()}
    keys = {name: {form for key in _keys(value) for form in _forms(key)} for name, value in fields.items()}
    shown = {form for name in allowed if name in fields for form in values[name] | keys[name]}
    hidden: dict[str, _Secret] = {}
    for name in fields:
        if name in allowed:
            continue
        is_name = _FIELD_NAME.fullmatch(name) is not None
        mark = f"[payload.{name}]" if is_name else "[payload]"
        own = set() if is_name else _forms(name)
        for form in keys[name] - shown:
            # As a name, it may be part of any other name.
            hidden.setdefault(form, _Secret(form, mark, is_word=_FIELD_NAME.fullmatch(form) is not None))
        for form in (values[name] | own) - shown:
            hidden[form] = _Secret(form, mark)
    quoted = {repr(leaf) for name in allowed if name in fields for leaf in _leaves(fields[name])}
    return sorted(hidden.values(), key=lambda secret: -len(secret.form)), quoted


def _keys(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for each in _inside(value):
        yield from _keys(each)


def _leaves(value: Json) -> Iterator[Json]:
    if not isinstance(value, dict | list | bool | None):
        yield value
    for each in _inside(value):
        yield from _leaves(each)


def _inside(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _forms(value: Json) -> set[str]:
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    if not isinstance(value, str):
        return {form for form in (text, str(value), repr(value)) if len(form) >= SHORTEST}
    # The error's text is searched line by line, so a value of several lines is several values.
    written = (*text.splitlines(), repr(text)[1:-1], json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    return {form for form in written if len(form.strip()) >= SHORTEST}
