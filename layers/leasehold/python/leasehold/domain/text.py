"""Bounds on text, in bytes, since bytes are what a table stores and bills."""

from __future__ import annotations

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


def fits(text: object, limit: int) -> bool:
    """Whether this is text, not empty, and at most so many bytes where it is stored."""
    if not isinstance(text, str) or not text:
        return False
    try:
        return len(text.encode()) <= limit
    except UnicodeEncodeError:  # half of a surrogate pair, which no table takes
        return False
