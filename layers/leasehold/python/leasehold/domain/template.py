"""A template: a named preset for jobs. A job keeps a copy of what it was given, so later changes do not touch it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from leasehold.domain import payload as codec
from leasehold.domain.errors import InvalidPayloadError
from leasehold.domain.lean import dataclass
from leasehold.domain.names import parse_name

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.due import Priority
    from leasehold.domain.payload import Json
    from leasehold.domain.retry import RetryPolicy

NO_DEFAULTS = "{}"
MAX_DESCRIPTION_BYTES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What a job gets where its caller says nothing; what is None here is left to the job type."""

    name: str
    job_type: str
    payload_text: str = NO_DEFAULTS
    priority: Priority | None = None
    max_attempts: int | None = None
    retry: RetryPolicy | None = None
    webhook: str | None = None
    description: str | None = None
    # What follows is not what it says, but where it comes from.
    created_by: str
    created_at: datetime
    version: int = 1
    audit_head: str | None = field(default=None, compare=False)

    @property
    def payload(self) -> Json:
        """The defaults that a job's own payload is laid over."""
        return codec.decode(self.payload_text)


def parse_template_name(name: object) -> str:
    return parse_name(name, "template", "nightly-report")


def merged(defaults: str, overrides: str) -> str:
    """A payload from a template's defaults and a job's own: each key that the job names replaces the default's value.

    >>> merged('{"to":"ada","style":{"size":9}}', '{"style":{"bold":true}}')
    '{"to":"ada","style":{"bold":true}}'
    """
    if overrides == NO_DEFAULTS:
        return defaults
    if defaults == NO_DEFAULTS:
        return overrides
    given = codec.decode(overrides)
    return codec.encode_payload({**_as_object(codec.decode(defaults)), **_as_object(given)})


def parse_defaults(payload_text: str) -> str:
    """The payload of a template: an object, since a job's own payload is laid over it key by key."""
    _as_object(codec.decode(payload_text))
    return payload_text


def _as_object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise InvalidPayloadError(
            "payload", value, "is no object, and cannot be merged with others", "Use a dict with string keys."
        )
    return value
