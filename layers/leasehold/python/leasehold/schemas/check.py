"""Refuse a payload that does not fit its type's model, before there is a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.kernel.errors import InvalidPayloadError, StoreError
from leasehold.kernel.payload import decode
from leasehold.schemas.records import UNREADABLE, read_schema
from leasehold.schemas.single_values import Misfit, misfits_of_single

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.payload import Json
    from leasehold.kernel.services import Services
    from leasehold.schemas.shape import Shape

_MOST = 5
_TYPES = {"object": dict, "map": dict, "list": list, "tuple": list, "str": str}
_WORDS = {dict: "object", list: "list", str: "text"}
# A model that may be several things, each of which holds it again, has more ways than anybody waits for.
_MOST_STEPS = 100_000
# By digest, which says all of it: what was read once is never read again.
_SHAPES: dict[str, Shape] = {}


def check_payload(job_type: JobType, payload_text: str, services: Services) -> None:
    """InvalidPayloadError with the path and the reason. It reads once per process and schema, and writes nothing."""
    shape = shape_of(job_type, services)
    payload = decode(payload_text) if shape else None
    try:
        found = misfits(payload, shape) if shape else []
    except UNREADABLE:
        return
    if not found:
        return
    first, others = found[0], found[1:]
    also = f" (and so: {'; '.join(f'{each.path} {each.reason}' for each in others)})" if others else ""
    raise InvalidPayloadError(
        first.path,
        first.value,
        f"{first.reason}{also}",
        f"Correct it, or set check_payload = false in the job.toml of {job_type.name}.",
    )


# --- whether a payload fits the shape of its type's model; no library and no model: this runs where jobs are enqueued


def misfits(payload: Json, shape: Shape) -> list[Misfit]:
    """What keeps the payload from fitting, at most five of it. What takes too many steps is left to the handler.

    >>> misfits({"n": []}, {"is": "object", "fields": [[["n"], True, {"is": "int"}]]})
    [Misfit(path='payload.n', value=[], reason='is no number')]
    """
    found: list[Misfit] = []
    try:
        for each in _Fit(shape.get("named", {})).check(payload, shape, "payload"):
            found.append(each)
            if len(found) == _MOST:
                break
    except _TooManyStepsError:
        pass
    return found


class _TooManyStepsError(Exception):
    """Nobody knows whether it fits."""


class _Fit:
    def __init__(self, named: dict[str, Shape]) -> None:
        self._named = named
        self._steps = 0

    def check(self, value: Any, shape: Shape, path: str) -> Iterator[Misfit]:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _TooManyStepsError
        kind = shape.get("is")
        if kind in _TYPES and not isinstance(value, _TYPES[kind]):
            yield Misfit(path, value, f"is no {_WORDS[_TYPES[kind]]}")
            return
        match kind:
            case "object":
                yield from self._object(value, shape, path)
            case "map":
                for name, each in value.items():
                    yield from self.check(each, shape["values"], f"{path}.{name}")
            case "list" | "tuple":
                yield from self._list(value, shape, path)
            case "str" if len(shape) == 1:  # most texts have no bounds
                return
            case "str" | "int" | "float" | "scalar" | "none" | "one of":
                yield from misfits_of_single(value, shape, path)
            case "named":
                yield from self.check(value, self._named.get(shape["name"], {}), path)
            case "either":
                yield from self._either(value, shape, path)
            case _:  # what this version does not know is left to the handler
                return

    def _either(self, value: object, shape: Shape, path: str) -> Iterator[Misfit]:
        others: list[tuple[Misfit, Iterator[Misfit]]] = []
        for each in shape["of"]:
            found = self.check(value, each, path)
            first = next(found, None)
            if first is None:
                return
            if each.get("is") != "none":
                others.append((first, found))
        if len(others) == 1:
            # With one alternative to null its own words say more than "fits neither".
            ((first, found),) = others
            yield first
            yield from found
        else:
            yield Misfit(path, value, "fits none of what it may be")

    def _object(self, value: dict[str, Any], shape: Shape, path: str) -> Iterator[Misfit]:
        known: set[str] = set()
        for names, is_required, inner in shape["fields"]:
            known.update(names)
            given = [name for name in names if name in value]
            if len(given) == 1:
                yield from self.check(value[given[0]], inner, f"{path}.{given[0]}")
            elif not given and is_required:
                yield Misfit(f"{path}.{names[0]}", None, "is missing")
        for name in value if shape.get("closed") else ():
            if name not in known:
                yield Misfit(f"{path}.{name}", value[name], "is not known to the model")

    def _list(self, value: list[Any], shape: Shape, path: str) -> Iterator[Misfit]:
        items = shape["items"]
        if isinstance(items, list):
            least = most = len(items)
        else:
            least, most = shape.get("min", 0), shape.get("max", len(value))
        if not least <= len(value) <= most:
            yield Misfit(path, value, f"has {len(value)} items; {least} are the least and {most} the most")
            return
        for number, each in enumerate(value):
            inner = items[number] if isinstance(items, list) else items
            yield from self.check(each, inner, f"{path}[{number}]")


def shape_of(job_type: JobType, services: Services) -> Shape | None:
    """None where there is none that is understood, or a deployment replaces it right now: then the handler decides."""
    if job_type.schema is None:
        return None
    if job_type.schema not in _SHAPES:
        try:
            read = read_schema(job_type.name, services.store.table)
        except StoreError:
            return None
        if read is None or read.digest != job_type.schema:
            return None
        _SHAPES[job_type.schema] = read.shape
    return _SHAPES[job_type.schema]
