"""Check what a caller says of a template: every argument, before anything is written."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from leasehold.domain.errors import InvalidOptionError
from leasehold.domain.lean import dataclass
from leasehold.domain.retry import parse_retry
from leasehold.domain.template import MAX_DESCRIPTION_BYTES, NO_DEFAULTS, Template, parse_defaults, parse_template_name
from leasehold.domain.text import fits
from leasehold.domain.webhook import parse_webhook
from leasehold.engine.draft import parse_attempts, parse_priority

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from leasehold.domain.due import Priority
    from leasehold.domain.retry import RetryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """None for what is left to the job type, or to what the template says now."""

    job_type: str | None = None
    payload_text: str | None = None
    priority: Priority | int | None = None
    max_attempts: int | None = None
    retry: RetryPolicy | None = None
    webhook: str | None = None
    description: str | None = None


# What a template need not say, by the names that callers use, and what it is then.
_UNSET: dict[str, tuple[str, object]] = {
    "payload": ("payload_text", NO_DEFAULTS),
    **{name: (name, None) for name in ("priority", "max_attempts", "retry", "webhook", "description")},
}


def template_from(name: str, preset: Preset, *, created_by: str, created_at: datetime) -> Template:
    blank = Template(
        name=parse_template_name(name),
        job_type=preset.job_type or "",
        created_by=created_by,
        created_at=created_at,
    )
    return replace(blank, **_checked(preset))  # type: ignore[arg-type]


def changed(old: Template, preset: Preset, remove: Collection[str]) -> Template:
    """The template with what the preset says, without what is to be removed, and as it was in everything else."""
    values = {**_removed(remove, preset), **_checked(preset)}
    if all(getattr(old, name) == value for name, value in values.items()):
        return old
    return replace(old, **values, version=old.version + 1)  # type: ignore[arg-type]


def _checked(preset: Preset) -> dict[str, object]:
    """What the preset says, each value as it will be stored."""
    parse: dict[str, Callable[..., object]] = {
        "payload_text": parse_defaults,
        "priority": parse_priority,
        "max_attempts": parse_attempts,
        "retry": parse_retry,
        "webhook": parse_webhook,
        "description": _parse_description,
    }
    said = {each.name: getattr(preset, each.name) for each in fields(preset)}
    return {name: parse.get(name, _as_it_is)(value) for name, value in said.items() if value is not None}


def _removed(remove: Collection[str], preset: Preset) -> dict[str, object]:
    for name in remove:
        if name not in _UNSET:
            raise InvalidOptionError(name, "a template has no such option", f"Remove one of {', '.join(_UNSET)}.")
        if getattr(preset, _UNSET[name][0]) is not None:
            raise InvalidOptionError(name, "an option is either set or removed", "Leave it out of one of the two.")
    return dict(_UNSET[name] for name in remove)


def _as_it_is(value: object) -> object:
    return value


def _parse_description(value: object) -> object:
    if not fits(value, MAX_DESCRIPTION_BYTES):
        raise InvalidOptionError(
            value, f"a description is text of 1 to {MAX_DESCRIPTION_BYTES} bytes", "Shorten it, or leave it out."
        )
    return value
