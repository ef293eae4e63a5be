"""Positions: the order of what is due at the same moment, as text between any two of which there is room.

A position is a fraction in base 36, written without its `0.`: it sorts as text like the number that it is. That of an
unmoved job is its creation time, in 9 digits. In a due key a `#` follows, which sorts before every digit, so that a
position comes before those that it is the beginning of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.instants import from_millis

if TYPE_CHECKING:
    from datetime import datetime

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_BASE = len(_DIGITS)

CREATION_WIDTH = 9
MAX_POSITION_LENGTH = 200
# What a position leaves room for at its end: see `engine.ports.make_stamp`.
_STAMP_WIDTH = 8
_NUMBER_WIDTH = 4
_HIGHEST_NUMBER = _BASE**_NUMBER_WIDTH - 1
# A place is chosen among so many at least, this share of them away from the neighbour that was moved last.
_FEWEST = 36
_ASIDE = 32


def to_digits(number: int, width: int) -> str:
    """
    >>> to_digits(37, 4)
    '0011'
    """
    text = ""
    for _ in range(width):
        number, digit = divmod(number, _BASE)
        text = _DIGITS[digit] + text
    return text


def creation_of(position: str) -> datetime:
    """When what has this position was created, or written.

    >>> creation_of("0mjrz3w00").isoformat()
    '2025-12-30T02:33:49.248000+00:00'
    """
    return from_millis(_cut(position, CREATION_WIDTH))


def numbered(position: str, number: int) -> str:
    """The place of the n-th of many that were made together; in one call they often share a millisecond.

    >>> numbered("0mjrz3w00", 1), numbered("0mjrz3w00", 36)
    ('0mjrz3w000001', '0mjrz3w000010')
    """
    return position + to_digits(min(number, _HIGHEST_NUMBER), _NUMBER_WIDTH)


def between(low: str | None, high: str | None) -> str | None:
    """A position after `low` and before `high`, whatever digits are written behind it; None if there is no room left.

    Without `low`, anywhere before `high`; without `high`, in the rest of `low`'s own millisecond, so that what is made
    later comes later.

    >>> between("0mjrz3w00", "0mjrz3w01")
    '0mjrz3w00i'
    """
    low, high = low or "", high or _next_millisecond(low or "")
    for width in range(1, MAX_POSITION_LENGTH - _STAMP_WIDTH + 1):
        first, last = _cut(low, width) + 1, _cut(high, width) - 1
        room = last - first + 1
        if room >= _FEWEST - 1:
            return to_digits(_chosen(first, last, len(low) - len(high)), width)
    return None


def _chosen(first: int, last: int, longer: int) -> int:
    # Of two neighbours the longer one was moved later, and who moves many moves on in the same direction: to stay close
    # to it leaves most of the room for those to come.
    aside = (last - first) // _ASIDE
    if longer > 0:
        return first + aside
    return last - aside if longer < 0 else (first + last) // 2


def _cut(position: str, width: int) -> int:
    """The first digits as a number."""
    return int(position[:width].ljust(width, "0"), _BASE)


def _next_millisecond(position: str) -> str:
    return to_digits(_cut(position, CREATION_WIDTH) + 1, CREATION_WIDTH)
