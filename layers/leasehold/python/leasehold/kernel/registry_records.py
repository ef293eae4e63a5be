"""The registry of deployed job types as one record: what is at its default is left out, and read as the default."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold import features
from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import Priority
from leasehold.kernel.registry import Registry
from leasehold.kernel.retry import Delays, Exponential, Fixed, retry_document, retry_of
from leasehold.kernel.table import FORMAT, WRITTEN_FORMAT, check_format
from leasehold.kernel.type_options import OnFull, Retention

if TYPE_CHECKING:
    from leasehold.kernel.table import Record

# With a default in the place of one of these, jobs of other shards or partitions would not be found.
_NEEDED = ("shards", "isolate_types", "ended_index", "types")
_OPTIONAL = ("concurrency", "resources", "retired", "audit_roots", "require_reasons")
# Written even where they are the default, which another release may change.
_ALWAYS = frozenset({"code", "timeout", "max_event_age", "priority", "max_attempts", "retry", "retention"})


def registry_record(registry: Registry) -> Record:
    types = {name: _type_document(job_type) for name, job_type in sorted(registry.types.items())}
    given = {name: getattr(registry, name) for name in _OPTIONAL}
    return {
        **{name: dict(value) if isinstance(value, Mapping) else value for name, value in given.items() if value},
        FORMAT: WRITTEN_FORMAT,
        **{name: getattr(registry, name) for name in _NEEDED},
        "types": json.dumps(types, separators=(",", ":"), default=_plain),
    }


def registry_of(record: Record) -> Registry:
    check_format(record, "what is deployed")
    stored: dict[str, Any] = {name: record[name] for name in _NEEDED}
    stored |= {name: record[name] for name in _OPTIONAL if name in record}
    types = {name: _type_of(name, document) for name, document in json.loads(stored["types"]).items()}
    return Registry(**{**stored, "types": types})


def _type_document(job_type: JobType) -> dict[str, Any]:
    default = JobType(name=job_type.name)
    settings = {each.name: getattr(job_type, each.name) for each in fields(JobType) if each.name != "name"}
    return {name: value for name, value in settings.items() if name in _ALWAYS or value != getattr(default, name)}


def _plain(value: Any) -> Any:
    """What JSON knows no form of; a group of settings is the list of its values."""
    match value:
        case timedelta():
            return value.total_seconds()
        case Mapping():
            return dict(value)
        case Exponential() | Fixed() | Delays():
            return retry_document(value)
        case _:
            return [getattr(value, each.name) for each in fields(value)]


def _type_of(name: str, document: dict[str, Any]) -> JobType:
    """Settings that this version does not know are left out: a later one has written them."""
    known = [each.name for each in fields(JobType) if each.name in document]
    return JobType(name=name, **{each: _READ.get(each, lambda value: value)(document[each]) for each in known})


def _group(kind: type, values: list[Any]) -> Any:
    named = zip(fields(kind), values, strict=True)
    return kind(**{each.name: _seconds(value) if each.type == "timedelta" else value for each, value in named})


def _option(name: str, values: list[Any]) -> Any:
    return _group(features.option(name), values)


def _seconds(value: float) -> timedelta:
    return timedelta(seconds=value)


_READ: Mapping[str, Any] = {
    **dict.fromkeys(("timeout", "max_event_age", "lease"), _seconds),
    **dict.fromkeys(("resources", "reported_fields"), tuple),
    **{name: partial(_option, name) for name in features.OPTIONS},
    "priority": Priority,
    "on_full": OnFull,
    "retry": retry_of,
    "retention": partial(_group, Retention),
}
