"""Points in time: aware, UTC, milliseconds, and fixed width as text, so that string order is time order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from leasehold.domain.errors import NaiveDatetimeError, TimeOutOfRangeError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)

_MILLISECOND = timedelta(milliseconds=1)
# Without the offset, which is always that of UTC.
_WIDTH = len("2026-11-15T09:30:00.000")


def instant(value: datetime, *, what: str = "the time") -> datetime:
    """A datetime in the only form that the rest of the domain knows."""
    if not isinstance(value, datetime):
        raise TimeOutOfRangeError(value, f"{what} is not a datetime", "Pass an aware datetime.")
    if value.tzinfo is None or value.utcoffset() is None:
        raise NaiveDatetimeError(value, what)
    try:
        utc = value.astimezone(UTC)
    except OverflowError:
        raise _out_of_range(value, what) from None
    if not EPOCH <= utc <= LATEST:
        raise _out_of_range(value, what)
    return utc.replace(microsecond=utc.microsecond // 1000 * 1000)


def later(start: datetime, delay: timedelta, *, what: str = "the time") -> datetime:
    """`start + delay`, with a named error instead of an overflow."""
    try:
        return instant(start + delay, what=what)
    except OverflowError:
        raise _out_of_range(delay, what) from None


def to_text(value: datetime) -> str:
    """
    >>> to_text(datetime(2026, 11, 15, 9, 30, tzinfo=UTC))
    '2026-11-15T09:30:00.000Z'
    """
    return f"{value.isoformat(timespec='milliseconds')[:_WIDTH]}Z"


def from_text(text: str) -> datetime:
    return datetime.fromisoformat(text)


def to_millis(value: datetime) -> int:
    return (value - EPOCH) // _MILLISECOND


def from_millis(millis: int) -> datetime:
    return EPOCH + millis * _MILLISECOND


def _out_of_range(value: object, what: str) -> TimeOutOfRangeError:
    return TimeOutOfRangeError(
        value,
        f"{what} is outside of what a job's key can hold",
        f"Choose a time from {to_text(EPOCH)} to {to_text(LATEST)}.",
    )
