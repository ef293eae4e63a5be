"""Cron lines and rates in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from leasehold.schedules.explain import explain
from leasehold.schedules.recurrence import Cron, Every, slots_after


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("0 * * * *", "every hour, on the hour"),
        ("5 */3 * * *", "every 3 hours, at minute 5"),
        ("0 9-17 * * *", "every hour from 09:00 to 17:00"),
        ("0 9 * * 1-5", "at 09:00, Monday to Friday"),
        ("0 9,17 * * *", "at 09:00 and 17:00, every day"),
        ("0 8 * * 0,6", "at 08:00, Saturday and Sunday"),
        ("0 8 * * sun", "at 08:00, Sunday"),
        ("30 2 1 * *", "at 02:30, on day 1 of the month"),
        ("0 0 L * *", "at 00:00, on the last day of the month"),
        ("0 12 1,15 * MON", "at 12:00, on days 1 and 15 of the month and on every Monday"),
        ("0 9 * 6-8 *", "at 09:00, every day, in June to August"),
        ("7,19 8,20,22 * * *", "at minutes 7 and 19 of the hour in the hours 8, 20 and 22, every day"),
        ("0 8 * * 1#2", "as the cron line 0 8 * * 1#2 says"),
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

    assert explain(cron) == "at 12:00, on days 1, 11, 21 and 31 of the month if that is Monday"
    slots = list(islice(slots_after(cron, datetime(2026, 1, 1, tzinfo=UTC)), 5))
    assert {(slot.day in (1, 11, 21, 31), slot.weekday()) for slot in slots} == {(True, 0)}
