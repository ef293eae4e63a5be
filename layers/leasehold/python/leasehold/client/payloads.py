"""Typed payloads: a pydantic model that knows its job type, or any JSON value with a named type.

pydantic is never imported here: whoever passes a model has imported it already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from leasehold.domain.errors import InvalidJobTypeError, InvalidOptionError
from leasehold.domain.payload import encode_payload

if TYPE_CHECKING:
    from leasehold.domain.payload import Json


@runtime_checkable
class TypedPayload(Protocol):
    """A pydantic model. Give its class a `job_type` and it can be enqueued by itself."""

    def model_dump(self, *, mode: str) -> dict[str, Any]: ...


def resolve(job: str | TypedPayload, payload: Json | TypedPayload) -> tuple[str, str]:
    """The job type and the encoded payload of an enqueue call."""
    if isinstance(job, TypedPayload):
        if payload is not None:
            raise InvalidOptionError(payload, "a typed payload is the payload already", "Pass only the model.")
        job_type = getattr(type(job), "job_type", None)
        if not isinstance(job_type, str):
            raise InvalidJobTypeError(
                type(job).__name__,
                "this payload model names no job type",
                "Add `job_type: ClassVar[str] = '...'` to the class, or pass the type: enqueue('...', model).",
            )
        return job_type, encode_value(job)
    return job, encode_value(payload)


def encode_value(payload: Json | TypedPayload) -> str:
    if isinstance(payload, TypedPayload):
        return encode_payload(payload.model_dump(mode="json"))
    # No payload is an empty object: most payload models accept it, none accepts null.
    return encode_payload({} if payload is None else payload)
