"""What an edit changed in a payload, without its values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leasehold.kernel.payload_forms import shown_json
from leasehold.schemas.check import shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.services import Services

    type _Path = tuple[str | int, ...]

_MOST_CHANGES = 50
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)


def payload_changes(job_type: JobType, before: str, after: str, services: Services) -> list[str]:
    """Where two payloads differ, e.g. `replace /user/email`, as in a JSON patch without its values.

    A key is shown where the type's model declares it, or at the top if it looks like a field; others may be personal,
    and what is written here is never forgotten.
    """
    shape = shape_of(job_type, services)
    known = set(_declared(shape)) if shape else set()
    old, new = shown_json(before), shown_json(after)
    found = [f"{operation} {_pointer(path, known)}" for operation, path in _differences(old, new, ())]
    return list(dict.fromkeys(found))[:_MOST_CHANGES]


def _differences(before: object, after: object, path: _Path) -> Iterator[tuple[str, _Path]]:
    match before, after:
        case dict(), dict():
            for key in dict.fromkeys([*before, *after]):
                if key not in after:
                    yield "remove", (*path, key)
                elif key not in before:
                    yield "add", (*path, key)
                else:
                    yield from _differences(before[key], after[key], (*path, key))
        case list(), list() if len(before) == len(after):
            for number, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from _differences(one, other, (*path, number))
        case _ if before != after or type(before) is not type(after):
            yield "replace", path


def _pointer(path: _Path, known: set[str]) -> str:
    def shown(place: int, step: str | int) -> str:
        is_field = step in known or (place == 0 and _FIELD.fullmatch(str(step)) is not None)
        return str(step) if isinstance(step, int) or is_field else "*"

    return "".join(f"/{shown(place, step)}" for place, step in enumerate(path)) or "/"


def _declared(shape: object) -> Iterator[str]:
    """The names of all fields in a shape."""
    if isinstance(shape, dict):
        for names, _, _ in shape.get("fields", ()):
            yield from names
        shape = [*shape.values()]
    for inner in shape if isinstance(shape, list) else ():
        yield from _declared(inner)
