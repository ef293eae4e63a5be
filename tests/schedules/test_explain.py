"""Cron lines and rates in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from leasehold.schedules.recurrence import Cron, Every, explain, slots_after


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every fifth minute of every hour"),
        ("0 * * * *", "at the start of every hour"),
        ("5 */3 * * *", "at minute 5 past every third hour"),
        ("0 9-17 * * *", "at minute 0 past every hour from 9 through 17"),
        ("0 9 * * 1-5", "at 09:00 on Monday through Friday"),
        ("0 9,17 * * *", "at 09:00 and 17:00 every day"),
        ("0 8 * * 0,6", "at 08:00 on Sunday and Saturday"),
        ("0 8 * * sun", "at 08:00 on Sunday"),
        ("30 2 1 * *", "at 02:30 on the first day of every month"),
        ("0 0 L * *", "at 00:00 on the last day of every month"),
        ("0 12 1,15 * MON", "at 12:00 on the first and the 15th day of month and on Monday"),
        ("0 9 * 6-8 *", "at 09:00 in every month from June through August"),
        ("7,19 8,20,22 * * *", "at minutes 7 and 19 past hours 8, 20, and 22"),
        ("0 8 * * 1#2", "at 08:00 on the second Monday of the month"),
    ],
)
def test_a_cron_line_is_explained(line: str, words: str) -> None:
    assert explain(Cron(line)) == words


@pytest.mark.parametrize(
    ("minutes", "words"), [(1, "every minute"), (90, "every 90 minutes"), (1440, "every day"), (20160, "every 2 weeks")]
)
def test_a_rate_is_explained_in_its_largest_unit(minutes: int, words: str) -> None:
    assert explain(Every(timedelta(minutes=minutes))) == words


def test_days_that_begin_with_a_star_narrow_the_weekday_as_the_slots_do() -> None:
    cron = Cron("0 12 */10 * MON")

    assert explain(cron) == "at 12:00 on every 10th day of month if it's on Monday"
    slots = list(islice(slots_after(cron, datetime(2026, 1, 1, tzinfo=UTC)), 5))
    assert {(slot.day in (1, 11, 21, 31), slot.weekday()) for slot in slots} == {(True, 0)}
