"""When a job is meant to run: now, at a time, or in a while."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from leasehold.kernel.keys import key_of, scheduled_for_of
from leasehold.testing.clock import DEFAULT_START
from tests.worlds import spied_queue

A_DAY = timedelta(days=1)


@pytest.mark.parametrize(
    "past",
    [
        DEFAULT_START - timedelta(milliseconds=1),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=5))),
        datetime(1900, 1, 1, tzinfo=ZoneInfo("Europe/Berlin")),
        datetime.min.replace(tzinfo=UTC),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
    ],
)
def test_a_past_time_means_now(past):
    queue, _ = spied_queue()

    job = queue.get(queue.enqueue("user_sync", run_at=past).job_id)

    assert job.scheduled_for == job.due_at == DEFAULT_START
    assert scheduled_for_of(job.job_id) == DEFAULT_START
    assert job.wake


@pytest.mark.parametrize("delay", [timedelta(0), -A_DAY, timedelta.min])
def test_a_delay_of_nothing_or_less_means_now(delay):
    queue, _ = spied_queue()

    assert queue.get(queue.enqueue("user_sync", run_in=delay).job_id).scheduled_for == DEFAULT_START


def test_a_time_of_any_zone_is_kept_in_utc_and_milliseconds():
    queue, _ = spied_queue()
    berlin = datetime(2026, 11, 15, 9, 30, 0, 123456, tzinfo=ZoneInfo("Europe/Berlin"))

    job = queue.get(queue.enqueue("user_sync", run_at=berlin).job_id)

    assert job.scheduled_for == datetime(2026, 11, 15, 8, 30, 0, 123000, tzinfo=UTC)
    assert key_of(job.job_id).sk == f"scheduled#2026-11-15T08:30:00.123Z#{job.job_id}"


@pytest.mark.parametrize(("delay", "wakes"), [(59, True), (60, False), (3600, False)])
def test_only_a_job_that_is_due_within_the_minute_wakes_a_poller(delay, wakes):
    queue, _ = spied_queue()

    assert queue.get(queue.enqueue("user_sync", run_in=timedelta(seconds=delay)).job_id).wake is wakes


def test_a_job_may_wait_for_the_end_of_time_and_be_moved_to_now():
    queue, _ = spied_queue()
    job_id = queue.enqueue("user_sync", run_at=datetime(9999, 12, 31, tzinfo=UTC)).job_id

    moved = queue.reschedule(job_id, run_at=datetime(1950, 1, 1, tzinfo=UTC))

    assert moved.due_at == DEFAULT_START
    assert moved.scheduled_for.year == 9999
