"""The forms of a payload that is not short: compressed, or the name of an item of its own; and the form people see."""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidPayloadError, PayloadUnreadableError
from leasehold.kernel.payload import MAX_INLINE_BYTES, MAX_PAYLOAD_BYTES, encode_payload, is_short, restored

if TYPE_CHECKING:
    from leasehold.kernel.payload import Form

# Beyond it the tighter packing would take a tenth of a second.
_MAX_PACKED_TIGHTLY_BYTES = 64 * 1024
# No stream of zlib begins with it.
_TIGHT = b"L"
# 128 bits tell the payloads of one job apart.
_DIGEST_CHARACTERS = 32


def compact(text: str) -> Form:
    """The smaller of a text and its compressed form; a short one is left as it is.

    >>> compact('{"user":"u1"}')
    '{"user":"u1"}'
    """
    if is_short(text):
        return text
    raw = text.encode()
    packed = zlib.compress(raw)
    if len(packed) > MAX_INLINE_BYTES and len(raw) <= _MAX_PACKED_TIGHTLY_BYTES:
        # What goes apart is billed by its size once more: it is worth some milliseconds to save a fifth of it.
        packed = min(packed, _packed_tightly(raw), key=len)
    return packed if len(packed) < len(raw) else text


def fits_into_its_job(form: Form) -> bool:
    return size_of(form) <= MAX_INLINE_BYTES


def size_of(form: Form) -> int:
    return len(form) if isinstance(form, bytes) or form.isascii() else len(form.encode())


def name_of(text: str) -> str:
    """The name of the item that holds this text: the same for the same text, another for any other."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]


def text_in(form: Form) -> str:
    """The text of a form that is not apart; PayloadUnreadableError if its bytes are damaged."""
    if isinstance(form, str):
        return form
    if not isinstance(form, bytes):
        raise PayloadUnreadableError("it is neither text nor bytes")
    try:
        return (_unpacked_tightly(form) if form.startswith(_TIGHT) else _unpacked(form)).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise PayloadUnreadableError(str(error)) from error


def text_or[T](otherwise: T, form: Form) -> str | T:
    """The text of a form, or something else where that cannot be unpacked."""
    try:
        return text_in(form)
    except PayloadUnreadableError:
        return otherwise


def _packed_tightly(raw: bytes) -> bytes:
    try:
        import lzma  # only large payloads pay for its import
    except ImportError:
        return raw  # a Python that was built without it packs less tightly

    return _TIGHT + lzma.compress(raw, format=lzma.FORMAT_RAW, filters=_filters())


def _unpacked(packed: bytes) -> bytes:
    stream = zlib.decompressobj()
    raw = stream.decompress(packed, MAX_PAYLOAD_BYTES + 1)
    return _whole(raw, is_whole=stream.eof)


def _whole(raw: bytes, *, is_whole: bool) -> bytes:
    """What was unpacked, if it can be a payload: a few bytes can stand for more than this machine has room for."""
    if len(raw) > MAX_PAYLOAD_BYTES:
        raise PayloadUnreadableError(f"it unpacks to more than {MAX_PAYLOAD_BYTES} bytes, the most that a payload has")
    if not is_whole:
        raise PayloadUnreadableError("it ends in the middle")
    return raw


def _unpacked_tightly(packed: bytes) -> bytes:
    try:
        import lzma
    except ImportError as error:
        raise PayloadUnreadableError("this Python was built without lzma; use one that has it") from error
    try:
        stream = lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=_filters())
        return _whole(stream.decompress(packed.removeprefix(_TIGHT), MAX_PAYLOAD_BYTES + 1), is_whole=stream.eof)
    except (lzma.LZMAError, EOFError) as error:
        raise PayloadUnreadableError(str(error)) from error


def _filters() -> list[dict[str, int]]:
    """What a stream without a header has to be read with: stored payloads depend on it, so it never changes."""
    import lzma

    return [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": _MAX_PACKED_TIGHTLY_BYTES, "pb": 0}]


# --- as it is shown to people, and typed by them


def shown_json(text: str) -> object:
    """What is stored, for documents; a word in its place if that is no JSON."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return {"$unreadable": True}


def encode_shown(document: object) -> str:
    """A payload in the form that `shown_json` has: its datetimes and decimals are what they were."""
    try:
        value = restored(document)
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise InvalidPayloadError(
            "payload", document, f"has a $datetime or $decimal that is none ({error})", "Correct it."
        ) from None
    return encode_payload(value)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")
