"""Requests of API Gateway's payload 2.0, checked before anything is done: size, type, fields, key."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args
from urllib.parse import parse_qs

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from leasehold.admin.others import DeadLetterFilter
from leasehold.admin.pages import DEFAULT_LIMIT, MAX_LIMIT
from leasehold.api.errors import (
    InvalidRequestError,
    InvalidRequestKeyError,
    RequestTooLargeError,
    UnsupportedContentError,
)
from leasehold.kernel.keys import MAX_SHARDS
from leasehold.kernel.transitions import JobStatus
from leasehold.operate.order import MAX_PLACES
from leasehold.webhooks.model import statuses_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError

    from leasehold.api.operations import Operation


MAX_BODY_BYTES = 1024 * 1024
KEY_HEADER = "idempotency-key"

_MAX_PARAMETERS = 50
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_SHOWN_FIELDS = 20


def query_of(event: Mapping[str, Any], operation: Operation) -> BaseModel | None:
    """The query string; one that is not taken is an error, not a silence."""
    from pydantic import ValidationError

    text = event.get("rawQueryString") or ""
    try:
        found = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_PARAMETERS)
    except ValueError as error:
        raise InvalidRequestError([("query", f"cannot be read ({type(error).__name__})")]) from None
    if operation.query is None:
        if found:
            raise InvalidRequestError([(f"query.{name}", "is not taken here") for name in found][:_SHOWN_FIELDS])
        return None
    lists = {name for name, field in operation.query.model_fields.items() if field.default == []}
    repeated = [name for name, values in found.items() if len(values) > 1 and name not in lists]
    if repeated:
        raise InvalidRequestError([(f"query.{name}", "is taken once") for name in repeated])
    values = {name: values if name in lists else values[0] for name, values in found.items()}
    try:
        return operation.query.model_validate(values)
    except ValidationError as error:
        raise InvalidRequestError(_fields("query", error)) from None


def body_of(event: Mapping[str, Any], operation: Operation) -> BaseModel | None:
    from pydantic import ValidationError

    raw = _bytes_of(event)
    if len(raw) > MAX_BODY_BYTES:
        raise RequestTooLargeError(len(raw), MAX_BODY_BYTES)
    if operation.body is None:
        # Browsers and tools send empty bodies, and proxies drop them: one that says something is a mistake.
        if raw:
            raise InvalidRequestError([("body", "is not taken here")])
        return None
    content_type = header(event, "content-type") or ""
    if not raw and not operation.needs_body:
        raw = b"{}"
    elif content_type.split(";")[0].strip().lower() != "application/json":
        raise UnsupportedContentError(content_type)
    try:
        return operation.body.model_validate_json(raw)
    except ValidationError as error:
        raise InvalidRequestError(_fields("body", error)) from None


def key_of(event: Mapping[str, Any], operation: Operation) -> str | None:
    """The idempotency key of a request that makes something."""
    key = header(event, KEY_HEADER)
    if key is None or not operation.takes_key:
        return None
    if not _KEY.fullmatch(key):
        raise InvalidRequestKeyError([(KEY_HEADER, "is 1 to 255 visible ASCII characters, without spaces")])
    return key


def fingerprint_of(path: Mapping[str, str], body: BaseModel | None) -> str:
    """The same for the same request, however it was spelt."""
    said = [dict(path), None if body is None else body.model_dump(mode="json", exclude_unset=True)]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]


def header(event: Mapping[str, Any], name: str) -> str | None:
    headers = event.get("headers") or {}
    return next((str(value) for key, value in headers.items() if key.lower() == name), None)


def _bytes_of(event: Mapping[str, Any]) -> bytes:
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(body).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRequestError([("body", "is not what the gateway said it is")]) from None


def _fields(where: str, error: ValidationError) -> list[tuple[str, str]]:
    """Where and why, without the value: what was sent may be personal, and answers are logged by others."""
    found = error.errors(include_url=False, include_context=False, include_input=False)[:_SHOWN_FIELDS]
    return [
        (".".join([where, *(str(part)[:64] for part in each["loc"])]), each["msg"].removeprefix("Value error, "))
        for each in found
    ]


# Also in the words of the requirements' API. Capitals tell them apart: `failed` waits for its next attempt.
_OURS = Literal["pending", "in_progress", "failed", "completed", "cancelled", "dead_letter"]
_THEIRS = Literal["QUEUED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"]
type Status = Literal[_OURS, _THEIRS]


def _written_out(value: object) -> object:
    """pydantic would also take seconds since 1970, which nobody means."""
    if not isinstance(value, str) or "-" not in value[1:]:
        raise ValueError("a time is written like 2026-11-15T09:30:00Z")
    return value


type Word = Annotated[str, StringConstraints(min_length=1, max_length=256)]
# No `type` of its own: the description would name it.
Span = Annotated[float, Field(gt=0, le=366 * 24 * 3600, allow_inf_nan=False)]
type Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_written_out)]


class Query(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Paging(Query):
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    cursor: Annotated[str, StringConstraints(min_length=1, max_length=2048)] | None = None


class JobFilters(BaseModel):
    job_type: Word | None = None
    scheduled_from: Moment | None = None
    scheduled_to: Moment | None = None
    created_from: Moment | None = None
    created_to: Moment | None = None
    concurrency_key: Word | None = None
    group_id: Word | None = None
    schedule: Word | None = None
    template: Word | None = None


class JobsQuery(JobFilters, Paging):
    """Every filter that is given must hold; `status` may come several times, also as a `state`: QUEUED, RUNNING, …"""

    status: Annotated[list[Status], Field(max_length=len(get_args(Status.__value__)))] = []
    ended_from: Moment | None = None
    ended_to: Moment | None = None
    dedup_key: Word | None = None

    @property
    def filters(self) -> dict[str, Any]:
        return {name: value for name, value in self if name not in {"limit", "cursor", "status"}}

    @property
    def statuses(self) -> frozenset[JobStatus]:
        named = (statuses_of(each) if each.isupper() else {JobStatus(each)} for each in self.status)
        return frozenset[JobStatus]().union(*named)


class QueueQuery(Query):
    """From the place `first` on. held_by: those of this type that are held back; `report#acme` of its key `acme`."""

    shard: Annotated[int, Field(ge=0, lt=MAX_SHARDS)] = 0
    held_by: Annotated[str, StringConstraints(min_length=1, max_length=512)] | None = None
    first: Annotated[int, Field(ge=1, le=MAX_PLACES)] = 1
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT


class DeadLetterFilters(BaseModel):
    job_type: Word | None = None
    failed_from: Moment | None = None
    failed_to: Moment | None = None

    @property
    def wanted(self) -> DeadLetterFilter:
        return DeadLetterFilter(job_type=self.job_type, failed_from=self.failed_from, failed_to=self.failed_to)


class DeadLettersQuery(DeadLetterFilters, Paging):
    pass


class ScheduleQuery(Query):
    next_runs: Annotated[int, Field(ge=0, le=100)] = 5


class SchedulePreviewQuery(ScheduleQuery):
    """Either `every` (seconds) or a five-field `cron` line."""

    every: Span | None = None
    cron: Word | None = None
    timezone: Word | None = None


class AuditQuery(Paging):
    """target: `job#<id>`, `schedule#<name>`, `control#halt`, …"""

    target: Annotated[str, StringConstraints(min_length=1, max_length=512)] | None = None
