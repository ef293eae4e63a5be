"""Times as callers pass them, checked: aware, within what a key can hold, and in UTC to the millisecond."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from leasehold.kernel.errors import InvalidOptionError, NaiveDatetimeError, TimeOutOfRangeError
from leasehold.kernel.keys import EPOCH, LATEST, to_text


def instant(value: datetime, *, what: str = "the time") -> datetime:
    """A datetime in the only form that the rest of the library knows."""
    if not isinstance(value, datetime):
        raise TimeOutOfRangeError(value, f"{what} is not a datetime", "Pass an aware datetime.")
    if value.tzinfo is None or value.utcoffset() is None:
        raise NaiveDatetimeError(value, what)
    # Compared first: what is out of range may have no time of UTC.
    if not EPOCH <= value <= LATEST:
        raise _out_of_range(value, what)
    utc = value.astimezone(UTC)
    return utc.replace(microsecond=utc.microsecond // 1000 * 1000)


def later(start: datetime, delay: timedelta, *, what: str = "the time") -> datetime:
    """`start + delay`, with a named error instead of an overflow."""
    try:
        return instant(start + delay, what=what)
    except OverflowError:
        raise _out_of_range(delay, what) from None


def _out_of_range(value: object, what: str) -> TimeOutOfRangeError:
    fix = f"Choose a time from {to_text(EPOCH)} to {to_text(LATEST)}."
    return TimeOutOfRangeError(value, f"{what} is outside of what a job's key can hold", fix)


def due_time(run_at: datetime | None, run_in: timedelta | None, now: datetime) -> datetime:
    """When to run; a time in the past means now."""
    if run_at is not None and run_in is not None:
        raise InvalidOptionError((run_at, run_in), "run_at and run_in exclude each other", "Pass one of them.")
    if run_in is not None:
        if not isinstance(run_in, timedelta):
            raise InvalidOptionError(run_in, "run_in is a timedelta", "Use timedelta(seconds=...).")
        return max(later(now, max(run_in, timedelta(0)), what="run_in"), now)
    if run_at is None:
        return now
    # A past time means now, also one before 1970, which no key holds. What is no time is refused below.
    is_known = isinstance(run_at, datetime) and run_at.utcoffset() is not None  # type: ignore[redundant-expr]
    return instant(max(run_at, now) if is_known else run_at, what="run_at")


def start_limit(start_by: datetime, scheduled_for: datetime) -> datetime:
    limit = instant(start_by, what="start_by")
    if limit <= scheduled_for:
        problem = f"start_by is not after the job's time {to_text(scheduled_for)}"
        raise InvalidOptionError(to_text(limit), problem, "Choose a later start_by.")
    return limit
