"""Typed payloads: a pydantic model that knows its job type, or any JSON value with a named type.

pydantic is never imported here: whoever passes a model has imported it already.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from leasehold.domain.errors import InvalidJobTypeError, InvalidOptionError, InvalidPayloadError
from leasehold.domain.payload import encode_payload

if TYPE_CHECKING:
    from leasehold.domain.payload import Json


@runtime_checkable
class PayloadModel(Protocol):
    """A pydantic model."""

    def model_dump(self, *, mode: str) -> dict[str, Any]: ...


class TypedPayload(PayloadModel, Protocol):
    """A pydantic model that names its job type, `job_type: ClassVar[str] = "..."`: it can be enqueued by itself."""

    job_type: ClassVar[str]


def resolve(job: str | TypedPayload | None, payload: Json | PayloadModel) -> tuple[str | None, str]:
    """The job type, unless it is left to a template, and the encoded payload of an enqueue call."""
    if isinstance(job, PayloadModel):
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


def encode_value(payload: Json | PayloadModel) -> str:
    # A class has the methods of its instances; passed by mistake, it is refused like any other object.
    if isinstance(payload, PayloadModel) and not isinstance(payload, type):
        return encode_payload(_dumped(payload))
    # No payload is an empty object: most payload models accept it, none accepts null.
    return encode_payload({} if payload is None else payload)


def _dumped(model: PayloadModel) -> dict[str, Any]:
    try:
        dumped = model.model_dump(mode="json")
    except ValueError as error:
        raise InvalidPayloadError(
            "payload", type(model).__name__, f"cannot be written as JSON ({error})", "Use fields that JSON can carry."
        ) from None
    # By default pydantic writes NaN and infinity as null, and the handler would read something else than was sent.
    if getattr(model, "model_config", {}).get("ser_json_inf_nan", "null") == "null":
        _refuse_non_finite(model.model_dump(mode="python"), "payload")
    return dumped


def _refuse_non_finite(value: object, path: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidPayloadError(path, value, "is not a finite number", "JSON has no NaN or infinity: use None.")
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_non_finite(item, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _refuse_non_finite(item, f"{path}[{index}]")
