"""Points in time are UTC, milliseconds, and sort as text."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import cast
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given

from leasehold.kernel.errors import NaiveDatetimeError, TimeOutOfRangeError
from leasehold.kernel.keys import EPOCH, LATEST, from_millis, from_text, to_millis, to_text
from leasehold.kernel.times import instant, later
from tests.strategies import aware_datetimes, instants


@given(instants)
def test_text_and_millis_give_back_the_instant(moment):
    assert from_text(to_text(moment)) == moment
    assert from_millis(to_millis(moment)) == moment
    assert len(to_text(moment)) == len("2026-11-15T09:30:00.000Z")


@given(instants, instants)
def test_text_sorts_like_time(one, other):
    assert (to_text(one) < to_text(other)) == (one < other)


@given(aware_datetimes)
def test_an_instant_is_the_same_moment_in_utc_without_microseconds(moment):
    if not EPOCH <= moment <= LATEST:
        return
    made = instant(moment)

    assert made.tzinfo is UTC
    assert made.microsecond % 1000 == 0
    assert timedelta(0) <= moment - made < timedelta(milliseconds=1)
    assert instant(made) == made


def test_daylight_saving_is_resolved_before_the_time_is_kept():
    twice = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))

    assert to_text(instant(twice)) == "2026-10-25T00:30:00.000Z"
    assert to_text(instant(twice.replace(fold=1))) == "2026-10-25T01:30:00.000Z"


class Nowhere(tzinfo):
    def utcoffset(self, _when: datetime | None) -> None:
        return None

    dst = utcoffset

    def tzname(self, _when: datetime | None) -> None:
        return None


@pytest.mark.parametrize("naive", [datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=Nowhere())])  # noqa: DTZ001
def test_a_datetime_without_an_offset_is_refused(naive):
    with pytest.raises(NaiveDatetimeError, match=r"run_at has no timezone: got datetime.*Pass an aware datetime"):
        instant(naive, what="run_at")


@pytest.mark.parametrize(
    "beyond",
    [
        EPOCH - timedelta(milliseconds=1),
        LATEST + timedelta(microseconds=500),
        datetime.max.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
    ],
)
def test_a_time_that_no_key_can_hold_is_refused(beyond):
    with pytest.raises(TimeOutOfRangeError, match=r"outside of what a job's key can hold.*Choose a time from 1970"):
        instant(beyond)


def test_a_date_is_no_time():
    with pytest.raises(TimeOutOfRangeError, match="start_by is not a datetime"):
        instant(cast("datetime", date(2026, 1, 1)), what="start_by")


def test_a_delay_past_the_end_of_time_is_a_named_error():
    assert later(EPOCH, timedelta(days=1)) == EPOCH + timedelta(days=1)
    for delay in (timedelta.max, LATEST - EPOCH):
        with pytest.raises(TimeOutOfRangeError, match="run_in is outside"):
            later(EPOCH + timedelta(days=1), delay, what="run_in")
