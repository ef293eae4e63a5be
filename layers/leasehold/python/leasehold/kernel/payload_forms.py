"""The forms of a payload that is not short: compressed, or the name of an item of its own; and the form people see."""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Any

from leasehold.kernel.errors import PayloadUnreadableError
from leasehold.kernel.payload import MAX_INLINE_BYTES, MAX_PAYLOAD_BYTES, is_stored_form

if TYPE_CHECKING:
    from leasehold.kernel.payload import Form

# Beyond it the tighter packing would take a tenth of a second.
_MAX_PACKED_TIGHTLY_BYTES = 64 * 1024
# No stream of zlib begins with it.
_TIGHT = b"L"
# What a stream without a header has to be read with: stored payloads depend on it, so it never changes.
_FILTERS = [{"id": 0x21, "preset": 9, "dict_size": _MAX_PACKED_TIGHTLY_BYTES, "pb": 0}]  # lzma.FILTER_LZMA2
# 128 bits tell the payloads of one job apart.
_DIGEST_CHARACTERS = 32


def compact(text: str) -> Form:
    """The smaller of a text and its compressed form; a short one is left as it is.

    >>> compact('{"user":"u1"}')
    '{"user":"u1"}'
    """
    if is_stored_form(text):
        return text
    raw = text.encode()
    packed = zlib.compress(raw)
    if len(packed) > MAX_INLINE_BYTES and len(raw) <= _MAX_PACKED_TIGHTLY_BYTES:
        # What goes apart is billed by its size once more: it is worth some milliseconds to save a fifth of it.
        packed = min(packed, _packed_tightly(raw), key=len)
    return packed if len(packed) < len(raw) else text


def name_of(text: str) -> str:
    """The name of the item that holds this text: the same for the same text, another for any other."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]


def text_in(form: Form) -> str:
    """The text of a form that is not apart; PayloadUnreadableError if its bytes are damaged."""
    if isinstance(form, str):
        return form
    if not isinstance(form, bytes):
        raise PayloadUnreadableError("it is neither text nor bytes")
    stream, packed, damage = _unpacking(form)
    try:
        raw = stream.decompress(packed, MAX_PAYLOAD_BYTES + 1)
        # A few bytes can stand for more than this machine has room for.
        if len(raw) > MAX_PAYLOAD_BYTES:
            problem = f"it unpacks to more than {MAX_PAYLOAD_BYTES} bytes, the most that a payload has"
            raise PayloadUnreadableError(problem)
        if not stream.eof:
            raise PayloadUnreadableError("it ends in the middle")
        return str(raw, "utf-8")
    except (damage, EOFError, UnicodeDecodeError) as error:
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

    return _TIGHT + lzma.compress(raw, format=lzma.FORMAT_RAW, filters=_FILTERS)


def _unpacking(form: bytes) -> tuple[Any, bytes, type[Exception]]:
    """What unpacks it, what of it is to be unpacked, and what is raised where that is damaged."""
    if not form.startswith(_TIGHT):
        return zlib.decompressobj(), form, zlib.error
    try:
        import lzma
    except ImportError as error:
        raise PayloadUnreadableError("this Python was built without lzma; use one that has it") from error
    stream = lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=_FILTERS)
    return stream, form.removeprefix(_TIGHT), lzma.LZMAError


# --- as it is shown to people


def shown_json(text: str) -> object:
    """What is stored, for documents; a word in its place if that is no JSON."""
    try:
        # NaN and infinity are no JSON: `int` has no value for them either.
        return json.loads(text, parse_constant=int)
    except (ValueError, RecursionError):
        return {"$unreadable": True}
