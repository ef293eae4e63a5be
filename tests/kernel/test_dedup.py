"""Dedup windows: which record a key is kept in, and until when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.kernel.dedup import (
    Day,
    DedupRecord,
    Dedups,
    DedupWindow,
    PointerMoved,
    UntilEnded,
    Within,
    dedup_record,
    dedup_record_record,
)
from leasehold.kernel.errors import InvalidKeyError, InvalidOptionError, StoreError, TimeOutOfRangeError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import LATEST, JobId, JobPartition, make_job_id, to_text
from leasehold.kernel.memory import MemoryTable
from leasehold.kernel.table import TransactionCancelled
from leasehold.kernel.type_options import parse_key
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from leasehold.kernel.table import Record

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
AN_ID, ANOTHER_ID, A_THIRD_ID = (make_job_id(NEW_YEAR, JobPartition(1), bits) for bits in (1, 2, 3))


def window_of(window: DedupWindow, scheduled_for: str) -> tuple[str, str]:
    record = dedup_record("user_sync", "u1", window, datetime.fromisoformat(scheduled_for), AN_ID)
    return record.ref.window, to_text(record.window_until)


@pytest.mark.parametrize(
    ("zone", "scheduled_for", "day", "until"),
    [
        ("UTC", "2026-11-15T00:00:00Z", "2026-11-15", "2026-11-16T00:00:00.000Z"),
        ("UTC", "2026-11-15T23:59:59.999Z", "2026-11-15", "2026-11-16T00:00:00.000Z"),
        ("Europe/Berlin", "2026-11-15T22:59:59.999Z", "2026-11-15", "2026-11-15T23:00:00.000Z"),
        ("Europe/Berlin", "2026-11-15T23:00:00Z", "2026-11-16", "2026-11-16T23:00:00.000Z"),
        ("Pacific/Kiritimati", "2026-11-15T10:00:00Z", "2026-11-16", "2026-11-16T10:00:00.000Z"),
        ("America/New_York", "2026-11-15T04:59:59Z", "2026-11-14", "2026-11-15T05:00:00.000Z"),
        pytest.param("Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29", "2026-03-29T22:00:00.000Z", id="23 hours"),
        pytest.param("Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25", "2026-10-25T23:00:00.000Z", id="25 hours"),
        # In Cairo the clock goes from midnight to one o'clock: that day has no 00:00.
        pytest.param(
            "Africa/Cairo", "2026-04-23T12:00:00Z", "2026-04-23", "2026-04-23T22:00:00.000Z", id="no midnight"
        ),
    ],
)
def test_a_day_is_the_calendar_day_of_its_zone_however_long_it_is(zone, scheduled_for, day, until):
    assert window_of(Day(zone), scheduled_for) == (day, until)


@given(st.integers(0, 366 * 24 * 3600), st.sampled_from(["UTC", "Europe/Berlin", "Asia/Tokyo"]))
def test_the_last_moment_of_a_day_s_window_still_has_that_day_and_the_next_has_not(second, zone):
    scheduled_for = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    record = dedup_record("user_sync", "u1", Day(zone), scheduled_for, AN_ID)
    last = record.window_until - timedelta(milliseconds=1)

    assert dedup_record("user_sync", "u1", Day(zone), last, AN_ID).ref == record.ref
    assert dedup_record("user_sync", "u1", Day(zone), record.window_until, AN_ID).ref != record.ref


def test_a_stretch_of_time_is_counted_from_when_the_job_is_meant_to_run():
    assert window_of(Within(timedelta(hours=2)), "2026-11-15T09:30:00Z") == ("-", "2026-11-15T11:30:00.000Z")


def test_without_a_window_the_key_is_free_as_soon_as_the_job_has_ended():
    record = dedup_record("user_sync", "u1", UntilEnded(), datetime(2026, 11, 15, tzinfo=UTC), AN_ID)

    assert record.ref.window == "-"
    assert record.is_over(record.window_until)
    assert not record.is_over(record.window_until - timedelta(milliseconds=1))


@pytest.mark.parametrize("window", [Day(), Day("Pacific/Kiritimati"), Within(timedelta(days=1))])
def test_a_window_past_the_end_of_time_is_a_named_error(window):
    with pytest.raises(TimeOutOfRangeError, match="the end of the dedup window"):
        dedup_record("user_sync", "u1", window, LATEST, AN_ID)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../../etc/passwd", "/etc/localtime"])
def test_a_zone_that_does_not_exist_is_refused(zone):
    with pytest.raises(InvalidOptionError, match="no such timezone"):
        Day(zone)


@pytest.mark.parametrize("nothing", [timedelta(0), timedelta(seconds=-1)])
def test_a_window_of_nothing_is_refused(nothing):
    with pytest.raises(InvalidOptionError, match="longer than nothing"):
        Within(nothing)


@pytest.mark.parametrize("window", ["day", timedelta(days=1), Day, 5])
def test_what_is_no_window_is_refused(window):
    with pytest.raises(InvalidOptionError, match=r"no dedup window: got .* Use Day\("):
        dedup_record("user_sync", "u1", window, datetime(2026, 11, 15, tzinfo=UTC), AN_ID)


@pytest.mark.parametrize("key", ["", "a#b", "#", "a\nb", "a\0b", "x" * 257, "ü" * 129, "\ud83e", None, 7, b"x"])
def test_a_key_that_could_reach_into_another_key_is_refused(key):
    with pytest.raises(InvalidKeyError, match=r"a dedup key .*1 to 256 bytes") as refused:
        parse_key(cast("object", key), "dedup key")

    assert refused.value.value == key


@pytest.mark.parametrize("key", ["u1", "x" * 256, "ü" * 128, "2026-11-15", "-", "order:7/line 3"])
def test_every_other_text_is_a_key(key):
    assert parse_key(key, "dedup key") == key


class Refusing(MemoryTable):
    """Finds that conditions of every transaction do not hold."""

    def __init__(self, failed: dict[int, Record | None]) -> None:
        super().__init__()
        self.failed = failed

    def transact(self, *_: Any, **__: Any) -> None:
        raise TransactionCancelled(self.failed)


def put(failed: dict[int, Record | None], *, seen: DedupRecord | None = None) -> DedupRecord | None:
    world = LeaseholdTest(types=[JobType(name="user_sync")])
    job = world.queue.get(world.queue.enqueue("user_sync").job_id)
    record = dedup_record("user_sync", "u1", None, NEW_YEAR, AN_ID)
    return Dedups(Refusing(failed)).put(job, record, seen, [])


def held_by(job_id: JobId) -> DedupRecord:
    return dedup_record("user_sync", "u1", None, NEW_YEAR, job_id)


def test_whoever_holds_a_key_is_told_to_who_has_not_looked_and_moved_for_who_has():
    holder = held_by(ANOTHER_ID)
    assert put({0: dedup_record_record(holder)}) == holder
    with pytest.raises(PointerMoved):
        put({0: dedup_record_record(holder)}, seen=held_by(A_THIRD_ID))


def test_a_key_that_was_given_up_meanwhile_is_looked_at_again():
    with pytest.raises(PointerMoved):
        put({0: None}, seen=held_by(ANOTHER_ID))


def test_what_was_refused_for_another_of_its_changes_is_not_made():
    with pytest.raises(PointerMoved):
        put({1: None})


def test_who_may_not_look_at_the_holder_of_a_key_is_told_which_right_that_takes():
    with pytest.raises(StoreError, match="grant_deduplicate"):
        put({0: None})


def test_each_change_of_a_record_has_a_token_of_its_own(monkeypatch):
    """The same token with other changes is refused for ten minutes."""
    tokens: list[str] = []
    monkeypatch.setattr(Refusing, "transact", lambda self, changes, *, token: tokens.append(token))
    for seen in (None, held_by(ANOTHER_ID), held_by(A_THIRD_ID)):
        put({}, seen=seen)
    assert len(set(tokens)) == 3
