"""Refuse a payload that does not fit its type's model, before there is a job.

No library and no model: this runs where jobs are enqueued.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from leasehold.kernel.errors import InvalidPayloadError, StoreError
from leasehold.kernel.payload import decode
from leasehold.lean import dataclass
from leasehold.schemas.records import UNREADABLE, read_schema
from leasehold.schemas.single_values import faults_of_single

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


@dataclass(frozen=True, slots=True)
class Misfit:
    path: str
    value: object
    reason: str


def check_payload(job_type: JobType, payload_text: str, services: Services) -> None:
    """InvalidPayloadError with the path and the reason. It reads once per process and schema, and writes nothing."""
    shape = shape_of(job_type, services)
    if not shape:
        return
    payload = decode(payload_text)
    try:
        found = misfits(payload, shape)
    except UNREADABLE:
        return
    if found:
        others = "; ".join(f"{each.path} {each.reason}" for each in found[1:])
        raise InvalidPayloadError(
            found[0].path,
            found[0].value,
            found[0].reason + (f" (and so: {others})" if others else ""),
            f"Correct it, or set check_payload = false in the job.toml of {job_type.name}.",
        )


def shape_of(job_type: JobType, services: Services) -> Shape | None:
    """None where there is none that is understood, or a deployment replaces it right now: then the handler decides."""
    if job_type.schema is None:
        return None
    if job_type.schema not in _SHAPES:
        with suppress(StoreError):
            read = read_schema(job_type.name, services.store.table)
            if read is not None and read.digest == job_type.schema:
                _SHAPES[job_type.schema] = read.shape
    return _SHAPES.get(job_type.schema)


def misfits(payload: Json, shape: Shape) -> list[Misfit]:
    """What keeps the payload from fitting, at most five of it. What takes too many steps is left to the handler.

    >>> misfits({"n": []}, {"is": "object", "fields": [[["n"], True, {"is": "int"}]]})
    [Misfit(path='payload.n', value=[], reason='is no number')]
    """
    return list(islice(_Fit(shape.get("named", {})).check(payload, shape, "payload"), _MOST))


class _Fit:
    def __init__(self, named: dict[str, Shape]) -> None:
        self._named = named
        self._steps = 0

    def check(self, value: Any, shape: Shape, path: str) -> Iterator[Misfit]:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return  # nobody knows whether the rest fits
        kind = shape.get("is")
        if kind in _TYPES and not isinstance(value, _TYPES[kind]):
            yield Misfit(path, value, f"is no {_WORDS[_TYPES[kind]]}")
            return
        # What this version does not know is left to the handler.
        match kind:
            case "object":
                yield from self._object(value, shape, path)
            case "map":
                for name, each in value.items():
                    yield from self.check(each, shape["values"], f"{path}.{name}")
            case "list" | "tuple":
                yield from self._list(value, shape, path)
            case "named":
                yield from self.check(value, self._named.get(shape["name"], {}), path)
            case "either":
                yield from self._either(value, shape, path)
            case "str" | "int" | "float" | "scalar" | "none" | "one of" if shape != {"is": "str"}:
                for fault in faults_of_single(value, shape):
                    yield Misfit(path, value, fault)

    def _either(self, value: object, shape: Shape, path: str) -> Iterator[Misfit]:
        others: list[Iterator[Misfit]] = []
        for each in shape["of"]:
            found = self.check(value, each, path)
            first = next(found, None)
            if first is None:
                return
            if each.get("is") != "none":
                others.append(chain([first], found))
        if len(others) == 1:
            # With one alternative to null its own words say more than "fits neither".
            yield from others[0]
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
        # A tuple has a shape for each place, a list one for all.
        inner = items if isinstance(items, list) else [items] * len(value)
        least, most = (len(items),) * 2 if inner is items else (shape.get("min", 0), shape.get("max", len(value)))
        if not least <= len(value) <= most:
            yield Misfit(path, value, f"has {len(value)} items; {least} are the least and {most} the most")
            return
        for number, each in enumerate(value):
            yield from self.check(each, inner[number], f"{path}[{number}]")
