"""Fields of things as documents: what is told outside is JSON-ready, and says nothing of what is unset."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from leasehold.kernel.errors import LeaseholdError
from leasehold.kernel.keys import to_text
from leasehold.kernel.retry import Delays, Exponential, Fixed

type Document = dict[str, object]


def picked(thing: object, *names: str) -> Document:
    """These fields of a thing, JSON-ready."""
    return set_only(**{name: _plain(getattr(thing, name)) for name in names})


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return to_text(value)
        case timedelta():
            return value.total_seconds()
        case Enum():
            return value.value
        case tuple():
            return [_plain(each) for each in value] or None
        case LeaseholdError():
            return {"code": value.code, "detail": str(value)}
        case Exponential() | Fixed() | Delays():
            return {"kind": type(value).__name__.lower(), **picked(value, *(each.name for each in fields(value)))}
        case _:
            return value


def set_only(**values: object) -> Document:
    """What is unset is left out."""
    return {name: value for name, value in values.items() if value is not None}
