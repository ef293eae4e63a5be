"""Payloads and results as text: JSON, plus datetimes and decimals that come back as what they were.

What JSON cannot say is written as an object with one reserved key (`{"$datetime": "…"}`); a caller's own object that
looks like one is escaped, so every accepted value comes back equal.
"""

from __future__ import annotations

import json
import math
from datetime import datetime
from decimal import Decimal
from types import NoneType
from typing import TYPE_CHECKING, Any

from leasehold import features
from leasehold.kernel.errors import InvalidPayloadError, PayloadTooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.schemas.payload_models import PayloadModel, TypedPayload

type Json = bool | int | float | str | Decimal | datetime | list[Json] | dict[str, Json] | None
# As it is stored: text, compressed text, or the name of an item.
type Form = str | bytes

OFFLOADED = "apart:"
# What stands in the place of a payload that was purged.
PURGED = '{"$purged":true}'
# What is shown in the place of one that stood apart and is gone.
MISSING = '{"$missing":true}'
MAX_PAYLOAD_BYTES = 200 * 1024
MAX_RESULT_BYTES = 64 * 1024
MAX_DEPTH = 64
# With so much of it, a plain job's item stays within 1 KB to its end.
MAX_INLINE_BYTES = 400
# Python refuses to write or read a whole number of more than 4,300 digits.
_MAX_INT_BITS = 14_000
# What an object with one reserved key stands for.
_RESERVED: dict[str, Callable[[Any], Json]] = {
    "$datetime": datetime.fromisoformat,
    "$decimal": Decimal,
    "$escaped": lambda inner: {name: restored(item) for name, item in inner.items()},
}


def encode_payload(value: object) -> str:
    return encode(value, limit=MAX_PAYLOAD_BYTES)


def encode_result(value: object) -> str:
    return encode(value, root="result", limit=MAX_RESULT_BYTES)


def encode(value: object, *, root: str = "payload", limit: int | None = None) -> str:
    """
    >>> encode({"amount": Decimal("1.10")})
    '{"amount":{"$decimal":"1.10"}}'
    """
    text = json.dumps(_plain(value, root, 0), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if limit is not None and size_of(text) > limit:
        raise PayloadTooLargeError(root, size_of(text), limit)
    return text


def decode(text: str) -> Json:
    return restored(json.loads(text))


def _plain(value: object, path: str, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise InvalidPayloadError(path, type(value).__name__, f"is nested deeper than {MAX_DEPTH}", "Flatten it.")
    # Exact types: a subclass (an IntEnum, a str with extras) would come back as something else than it was.
    if type(value) is str:
        return _encodable(value, path)
    if type(value) is int and value.bit_length() > _MAX_INT_BITS:
        raise InvalidPayloadError(path, value, "has more digits than JSON readers take", "Write it as text.")
    if (type(value) is float and not math.isfinite(value)) or (isinstance(value, Decimal) and not value.is_finite()):
        raise InvalidPayloadError(path, value, "is not a finite number", "JSON has no NaN or infinity: use None.")
    if type(value) in (int, float, bool, NoneType):
        return value
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidPayloadError(path, value, "has no timezone", "Use an aware datetime.")
        return {"$datetime": value.isoformat()}
    if isinstance(value, list):
        return [_plain(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    if isinstance(value, dict):
        return _plain_object(value, path, depth)
    fix = "Use None, bool, int, float, str, Decimal, aware datetime, list or dict; a set or tuple becomes a list."
    raise InvalidPayloadError(path, value, f"is a {type(value).__name__}, which JSON cannot carry", fix)


def _plain_object(value: dict[object, object], path: str, depth: int) -> dict[str, object]:
    plain: dict[str, object] = {}
    for key, item in value.items():
        if type(key) is not str:
            raise InvalidPayloadError(f"{path}[{key!r}]", key, "has a key that is not a string", "Use string keys.")
        plain[_encodable(key, path)] = _plain(item, f"{path}.{key}", depth + 1)
    return {"$escaped": plain} if len(plain) == 1 and not _RESERVED.keys().isdisjoint(plain) else plain


def _encodable(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidPayloadError(path, text, "holds half of a surrogate pair", "Use valid Unicode text.") from None
    return text


def restored(value: Any) -> Json:
    if isinstance(value, list):
        return [restored(item) for item in value]
    if not isinstance(value, dict):
        return value  # type: ignore[no-any-return]
    if len(value) == 1:
        ((key, inner),) = value.items()
        if key in _RESERVED:
            return _RESERVED[key](inner)
    return {key: restored(item) for key, item in value.items()}


def is_stored_form(form: Form) -> bool:
    """Whether a payload stands as it is to be stored: nearly all are short texts, and need nothing."""
    return isinstance(form, bytes) or size_of(form) <= MAX_INLINE_BYTES


def size_of(form: Form) -> int:
    # Most are ASCII, which is known without looking at them.
    return len(form) if isinstance(form, bytes) or form.isascii() else len(form.encode())


def resolve(job: str | TypedPayload | None, payload: Json | PayloadModel) -> tuple[str | None, str]:
    """The job type, unless it is left to a template, and the encoded payload of an enqueue call."""
    if job is None or isinstance(job, str):
        return job, encode_value(payload)
    return features.resolve_model(job, payload)


def encode_value(payload: Json | PayloadModel) -> str:
    if hasattr(payload, "model_dump"):
        payload = features.dumped(payload)
    # No payload is an empty object: most payload models accept it, none accepts null.
    return encode_payload({} if payload is None else payload)


def shortened(text: str, limit: int) -> str:
    """Keep the end of a text that is too long: a traceback's last lines say what went wrong.

    >>> shortened("abcdefgh", 6)
    '…fgh'
    """
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return encoded.decode()
    return "…" + encoded[-(limit - len("…".encode())) :].decode("utf-8", "ignore")
