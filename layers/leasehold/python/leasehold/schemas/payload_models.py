"""Payloads that are pydantic models; one that names its job type can be enqueued by itself. No pydantic is imported."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from leasehold.kernel.errors import InvalidJobTypeError, InvalidOptionError, InvalidPayloadError
from leasehold.kernel.payload import encode_value

if TYPE_CHECKING:
    from leasehold.kernel.payload import Json


@runtime_checkable
class PayloadModel(Protocol):
    """A pydantic model."""

    def model_dump(self, *, mode: str) -> dict[str, Any]: ...


class TypedPayload(PayloadModel, Protocol):
    """A pydantic model that names its job type, `job_type: ClassVar[str] = "..."`: it can be enqueued by itself."""

    job_type: ClassVar[str]


def resolve_model(job: object, payload: Json | PayloadModel) -> tuple[Any, str]:
    """The job type that a model names, and the encoded payload that it is."""
    if not isinstance(job, PayloadModel):
        return job, encode_value(payload)  # no name of a type either, and refused as such
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


def dumped(model: Any) -> Any:
    # A class has the methods of its instances; passed by mistake, it is refused like any other object.
    if isinstance(model, type):
        return model
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
