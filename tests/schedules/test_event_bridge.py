"""What EventBridge is told means what the schedule means: read back by its own rules, the slots are the same."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from leasehold.schedules.recurrence import MAX_LENGTH, Cron, Every, Recurrence, expression_of, slots_after

# EventBridge counts weekdays from 1 for Sunday, and wants a ? for one of the two kinds of day.
DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
START = datetime(2026, 1, 1, tzinfo=UTC)


def values(field: str, everything: range) -> set[int]:
    """A field by EventBridge's rules, as far as we use them: a star, or a list of single values."""
    if field in {"*", "?"}:
        return set(everything)
    return {DAYS.index(part) + 1 if part in DAYS else int(part) for part in field.split(",")}


def woken(expression: str, until: datetime) -> list[datetime]:
    """The minutes at which EventBridge would wake, in UTC."""
    found = re.fullmatch(r"cron\((\S+) (\S+) (\S+) (\S+) (\S+) \*\)", expression)
    assert found
    assert (found[3] == "?") != (found[5] == "?")
    minutes, hours = values(found[1], range(60)), values(found[2], range(24))
    days, weekdays = values(found[3], range(1, 32)), values(found[5], range(1, 8))
    months = values(found[4], range(1, 13))
    times = [timedelta(hours=hour, minutes=minute) for hour in sorted(hours) for minute in sorted(minutes)]
    moments: list[datetime] = []
    day = START
    while day < until:
        if day.day in days and day.month in months and day.isoweekday() % 7 + 1 in weekdays:
            moments += [day + time for time in times]
        day += timedelta(days=1)
    return moments


@pytest.mark.parametrize(
    ("line", "expression"),
    [
        ("0 9 * * *", "cron(0 9 * * ? *)"),
        ("0 9 * * 0", "cron(0 9 ? * SUN *)"),
        ("0 9 * * 7", "cron(0 9 ? * SUN *)"),
        ("0 9 * * sun", "cron(0 9 ? * SUN *)"),
        ("0 9 * * 0,7", "cron(0 9 ? * SUN *)"),
        ("0 9 * * 1-5", "cron(0 9 ? * MON,TUE,WED,THU,FRI *)"),
        ("0 9 * * 5-7", "cron(0 9 ? * FRI,SAT,SUN *)"),
        ("0 9 * * 1-5/2", "cron(0 9 ? * MON,WED,FRI *)"),
        ("*/20 8-10 * * *", "cron(0,20,40 8,9,10 * * ? *)"),
        ("5/20 * * * *", "cron(5,25,45 * * * ? *)"),
        ("0 8-8/6 * * *", "cron(0 8,14,20 * * ? *)"),
        ("0 0 1,15 * *", "cron(0 0 1,15 * ? *)"),
        ("0 0 */10 * *", "cron(0 0 1,11,21,31 * ? *)"),
        ("0 0 1 jan,jul *", "cron(0 0 1 1,7 ? *)"),
        ("0 0 1 */6 *", "cron(0 0 1 1,7 ? *)"),
        ("0 0 * * wed", "cron(0 0 ? * WED *)"),
    ],
)
def test_a_line_is_translated_and_wakes_at_its_slots(line, expression):
    assert expression_of(Cron(line, "UTC")) == (expression, "UTC")
    assert_wakes_at_slots(Cron(line, "UTC"), expression)


@pytest.mark.parametrize("minutes", [1, 5, 30, 60, 120, 720, 1440, 10080])
def test_a_rate_is_told_as_the_line_that_has_its_slots(minutes):
    rate = Every(timedelta(minutes=minutes))
    told = expression_of(rate)

    assert told is not None
    assert told[1] == "UTC"
    assert_wakes_at_slots(rate, told[0])


def assert_wakes_at_slots(recurrence: Recurrence, expression: str) -> None:
    moments = woken(expression, START + timedelta(days=430))[:300]
    assert moments
    assert moments == list(islice(slots_after(recurrence, START - timedelta(seconds=1)), len(moments)))


@pytest.mark.parametrize(
    "line",
    ["0 0 13 * 5", "0 0 */2 * 1", "0 0 L * *", "0 0 LW * *", "0 0 * * 5L", "0 0 * * 1#2"],
)
def test_what_eventbridge_cannot_say_is_left_to_the_tick(line):
    assert expression_of(Cron(line)) is None


@pytest.mark.parametrize("minutes", [7, 45, 90, 2880, 20160])
def test_a_rate_that_does_not_divide_its_hour_day_or_week_is_left_to_the_tick(minutes):
    assert expression_of(Every(timedelta(minutes=minutes))) is None


def test_a_line_that_would_be_too_long_is_left_to_the_tick():
    line = f"{','.join(map(str, range(60)))} {','.join(map(str, range(24)))} {','.join(map(str, range(1, 31)))} * *"

    assert len(line) > MAX_LENGTH
    assert expression_of(Cron(line)) is None


def test_the_timezone_goes_along():
    assert expression_of(Cron("0 9 * * *", "Europe/Berlin")) == ("cron(0 9 * * ? *)", "Europe/Berlin")
