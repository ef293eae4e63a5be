"""Dedup windows: how long a key is held after its job has ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from leasehold import Day, Within
from leasehold.kernel.job import DedupRef

if TYPE_CHECKING:
    from leasehold import Enqueued
    from leasehold.kernel.dedup import DedupWindow
    from tests.contract.world import World


def enqueue(world: World, window: DedupWindow | None = None, run_at: datetime | None = None) -> Enqueued:
    return world.queue.enqueue("report", dedup_key="u1", dedup_window=window, run_at=run_at)


def test_without_a_window_the_key_is_free_as_soon_as_the_job_has_ended(world: World) -> None:
    first = enqueue(world).job_id
    assert not enqueue(world).created
    world.work()

    second = enqueue(world)

    assert (second.created, second.replaced) == (True, None)
    assert second.job_id != first
    assert enqueue(world).job_id == second.job_id


def test_a_window_of_some_time_holds_the_key_after_the_end_of_the_job(world: World) -> None:
    first = enqueue(world, Within(timedelta(hours=1))).job_id
    world.work()
    world.clock.advance(timedelta(minutes=59))
    assert enqueue(world, Within(timedelta(hours=1))).job_id == first

    world.clock.advance(timedelta(minutes=1))

    assert enqueue(world, Within(timedelta(hours=1))).created


def test_a_window_that_is_over_does_not_free_the_key_of_a_job_that_has_not_ended(world: World) -> None:
    first = enqueue(world, Within(timedelta(hours=1))).job_id
    world.clock.advance(timedelta(hours=3))

    assert enqueue(world).job_id == first


def test_a_window_counts_from_the_time_of_the_job(world: World) -> None:
    first = enqueue(world, Within(timedelta(hours=1)), run_at=world.clock.now() + timedelta(hours=5)).job_id
    world.clock.advance(timedelta(hours=5))
    world.work()
    world.clock.advance(timedelta(minutes=59))

    assert enqueue(world).job_id == first


def test_a_day_is_the_day_of_its_timezone_across_midnight(world: World) -> None:
    # 23:30 and 00:30 in Berlin, which are both the evening of the same day in UTC.
    before, after = (datetime(2026, 7, 1, hour, 30, tzinfo=UTC) for hour in (21, 22))
    berlin, utc = Day("Europe/Berlin"), Day("UTC")

    late = enqueue(world, berlin, run_at=before)
    next_day = enqueue(world, berlin, run_at=after)

    assert (late.created, next_day.created) == (True, True)
    assert enqueue(world, berlin, run_at=after + timedelta(hours=20)).job_id == next_day.job_id
    assert not enqueue(world, utc, run_at=before).created
    assert [world.job(each.job_id).dedup for each in (late, next_day)] == [
        DedupRef("report", "u1", "2026-07-01"),
        DedupRef("report", "u1", "2026-07-02"),
    ]
    held = world.store.dedups.get(DedupRef("report", "u1", "2026-07-01"))
    assert held is not None
    assert held.window_until == datetime(2026, 7, 1, 22, tzinfo=UTC)


def test_a_day_holds_its_key_to_the_end_also_after_the_job_has_ended(world: World) -> None:
    first = enqueue(world, Day()).job_id
    world.work()
    world.clock.advance(timedelta(hours=23))
    assert enqueue(world, Day()).job_id == first

    world.clock.advance(timedelta(hours=1))

    assert enqueue(world, Day()).created


def test_a_job_is_kept_until_its_window_is_over(world: World) -> None:
    """Else the key would be free as soon as retention removed the job, in the middle of its window."""
    job_id = enqueue(world, Within(timedelta(days=90))).job_id
    window_until = world.clock.now() + timedelta(days=90)
    world.work()

    expires_at = world.job(job_id).expires_at
    assert expires_at is not None
    assert expires_at >= window_until.timestamp()


def test_without_a_window_the_key_of_a_job_that_was_cancelled_before_its_time_is_free(world: World) -> None:
    first = enqueue(world, run_at=world.clock.now() + timedelta(days=3)).job_id
    world.queue.cancel(first, reason="changed plans")

    again = enqueue(world)

    assert again.created
    assert again.job_id != first
