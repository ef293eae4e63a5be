"""The registry of deployed job types as one record: what is at its default is left out, and read as the default."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from enum import Enum
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
_NEEDED = ("types", "shards", "isolate_types", "ended_index")
_OPTIONAL = ("concurrency", "resources", "retired", "audit_roots", "require_reasons")
# Written even where they are the default, which another release may change.
_ALWAYS = frozenset({"code", "timeout", "max_event_age", "priority", "max_attempts", "retry", "retention"})


def registry_record(registry: Registry) -> Record:
    types = {name: _type_document(job_type) for name, job_type in sorted(registry.types.items())}
    return {
        **{name: value for name in _OPTIONAL if (value := _plain(getattr(registry, name)))},
        FORMAT: WRITTEN_FORMAT,
        "shards": registry.shards,
        "isolate_types": registry.isolate_types,
        "ended_index": registry.ended_index,
        "types": json.dumps(types, separators=(",", ":")),
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
    return {
        name: _plain(value) for name, value in settings.items() if name in _ALWAYS or value != getattr(default, name)
    }


def _plain(value: Any) -> Any:
    """As JSON has it; a group of settings is the list of its values."""
    match value:
        case timedelta():
            return value.total_seconds()
        case Enum():
            return value.value
        case tuple():
            return [_plain(each) for each in value]
        case Mapping():
            return dict(value)
        case Exponential() | Fixed() | Delays():
            return retry_document(value)
        case _ if is_dataclass(value):
            return [_plain(getattr(value, each.name)) for each in fields(value)]
        case _:
            return value


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
