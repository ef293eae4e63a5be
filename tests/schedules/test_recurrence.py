"""Slots: rates from a fixed anchor, cron lines in real zones across both clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.kernel.errors import InvalidOptionError
from leasehold.schedules.recurrence import (
    Cron,
    Every,
    InTheGap,
    WhenRepeated,
    check_slots,
    latest_slot,
    slots_after,
    slots_between,
)


def texts(recurrence: Cron | Every, after: str, count: int) -> list[str]:
    start = datetime.fromisoformat(after).replace(tzinfo=UTC)
    return [f"{slot:%d %H:%M}" for slot in islice(slots_after(recurrence, start), count)]


@pytest.mark.parametrize(
    ("interval", "first"),
    [
        (timedelta(minutes=30), "2026-11-16 10:30"),
        (timedelta(hours=1), "2026-11-16 11:00"),
        (timedelta(days=1), "2026-11-17 00:00"),
        (timedelta(weeks=1), "2026-11-23 00:00"),  # a Monday
    ],
)
def test_hours_days_and_weeks_begin_where_people_expect_them_to(interval, first):
    after = datetime(2026, 11, 16, 10, 7, tzinfo=UTC)

    assert f"{next(slots_after(Every(interval), after)):%Y-%m-%d %H:%M}" == first


def test_a_slot_belongs_to_the_stretch_that_ends_with_it():
    nine = datetime(2026, 11, 16, 9, tzinfo=UTC)
    hourly = Every(timedelta(hours=1))

    assert list(slots_between(hourly, nine - timedelta(seconds=1), nine)) == [nine]
    assert list(slots_between(hourly, nine, nine + timedelta(minutes=59))) == []


# Berlin: 29 March 2026, 02:00 becomes 03:00 at 01:00 UTC.
def test_a_time_on_dst_gap_runs_once_at_its_end_by_default():
    assert texts(Cron("30 2 * * *", "Europe/Berlin"), "2026-03-28", 3) == ["28 01:30", "29 01:00", "30 00:30"]


def test_a_time_on_dst_gap_is_left_out_on_request():
    cron = Cron("30 2 * * *", "Europe/Berlin", on_dst_gap=InTheGap.SKIP)

    assert texts(cron, "2026-03-28", 3) == ["28 01:30", "30 00:30", "31 00:30"]


def test_all_times_in_one_gap_are_one_run():
    assert texts(Cron("*/15 2-3 * * *", "Europe/Berlin"), "2026-03-29", 3) == ["29 01:00", "29 01:15", "29 01:30"]


# New York: 1 November 2026, 02:00 becomes 01:00 at 06:00 UTC.
@pytest.mark.parametrize(
    ("policy", "slots"),
    [
        (WhenRepeated.ONCE, ["31 05:30", "01 05:30", "02 06:30"]),
        (WhenRepeated.BOTH, ["31 05:30", "01 05:30", "01 06:30"]),
        (WhenRepeated.SKIP, ["31 05:30", "02 06:30", "03 06:30"]),
    ],
)
def test_a_time_that_comes_twice_runs_as_its_policy_says(policy, slots):
    cron = Cron("30 1 * * *", "America/New_York", on_dst_overlap=policy)

    assert texts(cron, "2026-10-31", 3) == slots


def test_both_passes_of_a_repeated_hour_are_in_order():
    cron = Cron("*/30 1 * * *", "America/New_York", on_dst_overlap=WhenRepeated.BOTH)

    assert texts(cron, "2026-11-01", 4) == ["01 05:00", "01 05:30", "01 06:00", "01 06:30"]


def test_the_second_pass_is_found_from_the_middle_of_the_first():
    cron = Cron("*/30 1 * * *", "America/New_York", on_dst_overlap=WhenRepeated.BOTH)

    assert texts(cron, "2026-11-01 05:45", 2) == ["01 06:00", "01 06:30"]


# Lord Howe: half an hour; 5 April 2026 02:00 becomes 01:30, 4 October 02:00 becomes 02:30.
def test_a_change_by_half_an_hour_is_like_any_other():
    both = Cron("45 1 * * *", "Australia/Lord_Howe", on_dst_overlap=WhenRepeated.BOTH)

    assert texts(both, "2026-04-04 12:00", 2) == ["04 14:45", "04 15:15"]
    assert texts(Cron("15 2 * * *", "Australia/Lord_Howe"), "2026-10-03 12:00", 1) == ["03 15:30"]


def test_a_rate_does_not_know_of_clock_changes():
    assert texts(Every(timedelta(hours=1)), "2026-10-25", 3) == ["25 01:00", "25 02:00", "25 03:00"]


@given(
    st.sampled_from(["*/10 * * * *", "30 1,2 * * *", "0 2 * * 0", "0 0 29 2 *", "15 2 1 * 1"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
    st.sampled_from(WhenRepeated),
    st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1)),  # noqa: DTZ001  made aware below
)
def test_slots_are_the_same_from_wherever_one_looks(line, zone, repeated, start):
    cron = Cron(line, zone, on_dst_overlap=repeated)
    slots = list(islice(slots_after(cron, start.replace(tzinfo=UTC)), 5))

    assert slots == sorted(set(slots))
    for earlier, later in pairwise(slots):
        assert next(slots_after(cron, earlier)) == later
        assert next(slots_after(cron, later - timedelta(seconds=1))) == later
        assert latest_slot(cron, start.replace(tzinfo=UTC), later - timedelta(seconds=1)) == earlier


def test_there_is_no_latest_slot_where_none_was():
    start = datetime(2026, 3, 1, tzinfo=UTC)

    assert latest_slot(Cron("0 0 29 2 *"), start, start + timedelta(days=300)) is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("0 9 * *", "five fields"),
        ("0 0 9 * * *", "five fields"),
        ("61 * * * *", "Bad minute"),
        ("0 0 31 2 *", "never comes due"),
        ("", "five fields"),
    ],
)
def test_a_line_that_cannot_be_is_refused_with_the_reason(line, reason):
    with pytest.raises(InvalidOptionError, match=reason):
        Cron(line)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "/etc/passwd", "Europe"])
def test_a_zone_that_does_not_exist_is_refused(zone):
    with pytest.raises(InvalidOptionError, match="no such timezone"):
        Cron("0 9 * * *", zone)


@pytest.mark.parametrize("interval", [timedelta(0), timedelta(seconds=59), timedelta(seconds=90), -timedelta(hours=1)])
def test_a_rate_is_whole_minutes(interval):
    with pytest.raises(InvalidOptionError, match="whole minutes"):
        Every(interval)


@pytest.mark.parametrize("line", ["30 2 * 3 7L", "* 2 * 3 7L"])
def test_a_line_that_names_only_moments_in_a_gap_is_refused_and_not_searched_for_thousands_of_years(line):
    never = Cron(line, "Europe/Berlin", InTheGap.SKIP)
    began = process_time()

    with pytest.raises(InvalidOptionError, match="never comes due in Europe/Berlin"):
        check_slots(never)
    assert latest_slot(never, datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)) is None

    assert process_time() - began < 2


def test_a_slot_that_comes_every_40_years_is_found():
    leap_sunday = Cron("0 0 * 2 7#5")

    assert next(slots_after(leap_sunday, datetime(2088, 3, 1, tzinfo=UTC))).year == 2128
