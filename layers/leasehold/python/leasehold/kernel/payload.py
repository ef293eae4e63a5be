"""Payloads and results as text: JSON, plus datetimes and decimals that come back as what they were.

What JSON cannot say is written as an object with one reserved key (`{"$datetime": "…"}`); a caller's own object that
looks like one is escaped, so every accepted value comes back equal.
"""

from __future__ import annotations

import json
import math
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from leasehold import features
from leasehold.kernel.errors import InvalidPayloadError, PayloadTooLargeError

if TYPE_CHECKING:
    from leasehold.schemas.payload_models import PayloadModel, TypedPayload

type Json = bool | int | float | str | Decimal | datetime | list[Json] | dict[str, Json] | None

# What stands in the place of a payload that was purged.
PURGED = '{"$purged":true}'
# What is shown in the place of one that stood apart and is gone.
MISSING = '{"$missing":true}'
MAX_PAYLOAD_BYTES = 200 * 1024
MAX_RESULT_BYTES = 64 * 1024
MAX_DEPTH = 64

# Python refuses to write or read a whole number of more than 4,300 digits.
_MAX_INT_BITS = 14_000
_DATETIME = "$datetime"
_DECIMAL = "$decimal"
_ESCAPED = "$escaped"
_RESERVED = frozenset({_DATETIME, _DECIMAL, _ESCAPED})


def encode_payload(value: object) -> str:
    return _bounded("payload", encode(value), MAX_PAYLOAD_BYTES)


def encode_result(value: object) -> str:
    return _bounded("result", encode(value, root="result"), MAX_RESULT_BYTES)


def encode(value: object, *, root: str = "payload") -> str:
    """
    >>> encode({"amount": Decimal("1.10")})
    '{"amount":{"$decimal":"1.10"}}'
    """
    return json.dumps(_plain(value, root, 0), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def decode(text: str) -> Json:
    return restored(json.loads(text))


def _plain(value: object, path: str, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise InvalidPayloadError(path, type(value).__name__, f"is nested deeper than {MAX_DEPTH}", "Flatten it.")
    # Exact types: a subclass (an IntEnum, a str with extras) would come back as something else than it was.
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return _encodable(value, path)
    if kind is int or kind is float or isinstance(value, Decimal):
        return _plain_number(value, path)  # type: ignore[arg-type]
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidPayloadError(path, value, "has no timezone", "Use an aware datetime.")
        return {_DATETIME: value.isoformat()}
    if isinstance(value, list):
        return [_plain(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    if isinstance(value, dict):
        return _plain_object(value, path, depth)
    raise InvalidPayloadError(
        path,
        value,
        f"is a {kind.__name__}, which JSON cannot carry",
        "Use None, bool, int, float, str, Decimal, aware datetime, list or dict; a set or tuple becomes a list.",
    )


def _plain_number(value: int | float | Decimal, path: str) -> object:
    if isinstance(value, int):
        if value.bit_length() > _MAX_INT_BITS:
            raise InvalidPayloadError(path, value, "has more digits than JSON readers take", "Write it as text.")
        return value
    if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise InvalidPayloadError(path, value, "is not a finite number", "JSON has no NaN or infinity: use None.")
    return {_DECIMAL: str(value)} if isinstance(value, Decimal) else value


def _plain_object(value: dict[object, object], path: str, depth: int) -> dict[str, object]:
    plain: dict[str, object] = {}
    for key, item in value.items():
        if type(key) is not str:
            raise InvalidPayloadError(f"{path}[{key!r}]", key, "has a key that is not a string", "Use string keys.")
        plain[_encodable(key, path)] = _plain(item, f"{path}.{key}", depth + 1)
    if len(plain) == 1 and not _RESERVED.isdisjoint(plain):
        return {_ESCAPED: plain}
    return plain


def _encodable(text: object, path: str) -> str:
    assert isinstance(text, str)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidPayloadError(path, text, "holds half of a surrogate pair", "Use valid Unicode text.") from None
    return text


def restored(value: object) -> Json:
    if isinstance(value, list):
        return [restored(item) for item in value]
    if not isinstance(value, dict):
        return value  # type: ignore[return-value]
    if len(value) == 1:
        ((key, inner),) = value.items()
        if key == _DATETIME:
            return datetime.fromisoformat(inner)
        if key == _DECIMAL:
            return Decimal(inner)
        if key == _ESCAPED:
            return {name: restored(item) for name, item in inner.items()}
    return {key: restored(item) for key, item in value.items()}


def _bounded(what: str, text: str, limit: int) -> str:
    size = len(text.encode())
    if size > limit:
        raise PayloadTooLargeError(what, size, limit)
    return text


# Text, compressed text, or the name of an item.
type Form = str | bytes
OFFLOADED = "apart:"

# With so much of it, a plain job's item stays within 1 KB to its end.
MAX_INLINE_BYTES = 400


def is_short(text: str) -> bool:
    # Most are short and ASCII, which is known without looking at them.
    size = len(text)
    return size <= MAX_INLINE_BYTES and (text.isascii() or len(text.encode()) <= MAX_INLINE_BYTES)


def is_stored_form(form: Form) -> bool:
    """Whether a payload stands as it is to be stored: nearly all are short, and need nothing."""
    return isinstance(form, bytes) or is_short(form)


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


_MARK = "…"


def shortened(text: str, limit: int) -> str:
    """Keep the end of a text that is too long: a traceback's last lines say what went wrong.

    >>> shortened("abcdefgh", 6)
    '…fgh'
    """
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return encoded.decode()
    return _MARK + encoded[-(limit - len(_MARK.encode())) :].decode("utf-8", "ignore")
