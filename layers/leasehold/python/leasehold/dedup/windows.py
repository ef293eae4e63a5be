"""How long a dedup key is held: windows, and the record that says which job holds it until when."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from leasehold.kernel.errors import InvalidOptionError, TimeOutOfRangeError
from leasehold.kernel.job import NO_WINDOW, DedupRef
from leasehold.kernel.keys import EPOCH
from leasehold.kernel.times import instant, later
from leasehold.kernel.type_options import parse_key
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from leasehold.kernel.keys import JobId


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
class DedupRecord:
    ref: DedupRef
    job_id: JobId
    window_until: datetime

    def is_over(self, now: datetime) -> bool:
        return self.window_until <= now


def dedup_record(
    job_type: str, key: str | None, window: DedupWindow | None, scheduled_for: datetime, job_id: JobId
) -> DedupRecord:
    if key is None:
        raise InvalidOptionError(window, "dedup_window without a dedup_key does nothing", "Pass a key.")
    parse_key(key, "dedup key")
    match window:
        case None | UntilEnded():
            name, until = NO_WINDOW, EPOCH
        case Within(duration):
            name, until = NO_WINDOW, later(scheduled_for, duration, what="the end of the dedup window")
        case Day(timezone):
            name, until = _day_of(scheduled_for, ZoneInfo(timezone))
        case _:
            raise InvalidOptionError(window, "this is no dedup window", "Use Day(...), Within(...) or UntilEnded().")
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
