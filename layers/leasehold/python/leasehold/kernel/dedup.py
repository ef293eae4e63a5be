"""Deduplication: one job per key and window, and the record that says which job it is."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, NamedTuple, assert_never
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from leasehold.kernel.errors import InvalidKeyError, InvalidOptionError, TimeOutOfRangeError
from leasehold.kernel.keys import EPOCH, instant, later
from leasehold.kernel.lean import dataclass

if TYPE_CHECKING:
    from leasehold.kernel.keys import JobId

MAX_KEY_BYTES = 256
NO_WINDOW = "-"


@dataclass(frozen=True, slots=True)
class Day:
    """One job per calendar day of a timezone, the day that `scheduled_for` falls on."""

    timezone: str = "UTC"

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise InvalidOptionError(
                self.timezone, "there is no such timezone", "Use an IANA name like Europe/Berlin."
            ) from None


@dataclass(frozen=True, slots=True)
class Within:
    """One job per stretch of time, counted from `scheduled_for`."""

    duration: timedelta

    def __post_init__(self) -> None:
        if self.duration <= timedelta(0):
            raise InvalidOptionError(self.duration, "a dedup window is longer than nothing", "Leave it out instead.")


@dataclass(frozen=True, slots=True)
class UntilEnded:
    """The key is free again as soon as the job has ended."""


type DedupWindow = Day | Within | UntilEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class Debounce:
    """quiet: how long nobody may call before the job runs.
    max_wait: after which it runs all the same, counted from the first call; None is as long as the calls go on.
    """

    quiet: timedelta
    max_wait: timedelta | None = None

    def __post_init__(self) -> None:
        if self.quiet <= timedelta(0):
            raise InvalidOptionError(self.quiet, "debounce is longer than nothing", "Leave it out instead.")
        if self.max_wait is not None and self.max_wait < self.quiet:
            raise InvalidOptionError(
                self.max_wait, f"max_wait is shorter than debounce ({self.quiet})", "Use a longer max_wait."
            )


class DedupRef(NamedTuple):
    """Names a dedup record. A job keeps it, so that its end can find the record."""

    job_type: str
    key: str
    window: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupRecord:
    ref: DedupRef
    job_id: JobId
    window_until: datetime

    def is_over(self, now: datetime) -> bool:
        return self.window_until <= now


def dedup_record(job_type: str, key: str, window: DedupWindow, scheduled_for: datetime, job_id: JobId) -> DedupRecord:
    match window:
        case UntilEnded():
            name, until = NO_WINDOW, EPOCH
        case Within(duration):
            name, until = NO_WINDOW, later(scheduled_for, duration, what="the end of the dedup window")
        case Day(timezone):
            name, until = _day_of(scheduled_for, ZoneInfo(timezone))
        case _:
            assert_never(window)
    return DedupRecord(ref=DedupRef(job_type, key, name), job_id=job_id, window_until=until)


def _day_of(scheduled_for: datetime, zone: ZoneInfo) -> tuple[str, datetime]:
    try:
        day = scheduled_for.astimezone(zone).date()
        midnight = datetime.combine(day + timedelta(days=1), time(), tzinfo=zone)
    except OverflowError:
        raise TimeOutOfRangeError(
            scheduled_for, "the end of the dedup window is after the year 9999", "Choose an earlier time."
        ) from None
    return day.isoformat(), instant(midnight, what="the end of the dedup window")


def parse_window(window: object) -> DedupWindow:
    if not isinstance(window, Day | Within | UntilEnded):
        raise InvalidOptionError(window, "this is no dedup window", "Use Day(...), Within(...) or UntilEnded().")
    return window


def parse_key(key: object, what: str) -> str:
    """Keys become parts of table keys, where `#` separates: one inside would reach into another key."""
    fix = "Use 1 to 256 bytes of text without '#' and control characters."
    if not isinstance(key, str) or not key:
        raise InvalidKeyError(key, f"a {what} is a non-empty string", fix)
    if "#" in key or not key.isprintable():
        raise InvalidKeyError(key, f"a {what} holds no '#' and no control characters", fix)
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        raise InvalidKeyError(key, f"a {what} is valid Unicode", fix) from None
    if size > MAX_KEY_BYTES:
        raise InvalidKeyError(key, f"a {what} is at most {MAX_KEY_BYTES} bytes", fix)
    return key
