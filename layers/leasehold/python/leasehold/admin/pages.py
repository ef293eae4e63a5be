"""One page of a listing, and the cursor that a client brings back for the next."""

from __future__ import annotations

import base64
import binascii
import json
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from leasehold.domain.errors import InvalidCursorError, InvalidOptionError
from leasehold.domain.lean import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.admin.legs import Walk
    from leasehold.store.unreadable import Unreadable

DEFAULT_LIMIT = 50
# As many as one BatchGetItem can fetch.
MAX_LIMIT = 100

_VERSION = 1
_LONGEST = 2048
_LONGEST_SORT_KEY = 1024


class Order(StrEnum):
    """By what a listing is ordered, the newest (latest, highest) first."""

    SCHEDULED = "scheduled_for"
    ENDED = "ended_at"
    DUE = "due_at"
    MEMBER = "member"
    DEDUP_WINDOW = "dedup_window"
    FAILED = "failed_at"
    CREATED = "created_at"
    NAME = "name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page[Item]:
    """`cursor` is None after the last page, and only then: a page may be short, or empty, and have one.

    order: by what the items of this page are ordered.
    is_ordered: whether the pages together are in that order too, or only each part of the listing in itself.
    searched: how many entries were read for this page.
    reached: how far back the search has come; None where that is no date, or the listing is over.
    unreadable: what was found and cannot be shown; it stands in nobody's way.
    """

    items: tuple[Item, ...]
    cursor: str | None = None
    order: Order = Order.SCHEDULED
    is_ordered: bool = True
    searched: int = 0
    reached: datetime | None = None
    unreadable: tuple[Unreadable, ...] = ()


class Position(NamedTuple):
    """Where a page ended: in which leg of the listing, and at which sort key, which the next page starts below."""

    leg: str
    below: str | None


def encode_cursor(position: Position, fingerprint: str) -> str:
    text = json.dumps([_VERSION, fingerprint, *position], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def decode_cursor(cursor: object, fingerprint: str) -> Position:
    """A cursor names no partition: what may be read comes from the filter alone, so a forged one reads nothing else."""
    match _decoded(cursor):
        case [1, str(owner), str(leg), None | str() as below] if owner == fingerprint and _is_short(below or ""):
            return Position(leg, below)
        case [1, str(owner), str(), None | str()] if owner != fingerprint:
            raise InvalidCursorError(cursor, "this cursor belongs to another listing", _FIX)
        case _:
            raise InvalidCursorError(cursor, "this is not a cursor", _FIX)


def decode_position(cursor: str | None, fingerprint: str, leg: Walk) -> str | None:
    """Where a listing of one leg goes on; None at its beginning."""
    if cursor is None:
        return None
    name, below = decode_cursor(cursor, fingerprint)
    if name != leg.name or below is None or not leg.is_position(below):
        raise InvalidCursorError(cursor, "this cursor points nowhere", _FIX)
    return below


def check_limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidOptionError(limit, f"the limit of a page is 1 to {MAX_LIMIT}", f"Use {DEFAULT_LIMIT}.")
    return limit


def _is_short(sort_key: str) -> bool:
    """DynamoDB takes no longer ones, and nothing that is not Unicode."""
    try:
        return len(sort_key.encode()) <= _LONGEST_SORT_KEY
    except UnicodeEncodeError:
        return False


_FIX = "Pass the cursor of the last page of the same listing, or none for its beginning."


def _decoded(cursor: object) -> object:
    if not isinstance(cursor, str) or len(cursor) > _LONGEST:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        return None
