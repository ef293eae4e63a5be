"""What a backfill would make is known before it is made, and how far it is while it lasts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel import keys
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.table import Delete
from leasehold.schedules.model import ScheduleNotFoundError

if TYPE_CHECKING:
    from tests.contract.world import World

START = datetime(2026, 1, 1, tzinfo=UTC)


def slot(hour: int) -> datetime:
    return START + timedelta(hours=hour)


@pytest.fixture
def hourly(world: World) -> str:
    """Five hours ago and disabled, so that none of its slots has a job."""
    world.queue.schedules.create("hourly", "report", every=timedelta(hours=1), enabled=False)
    world.clock.advance(timedelta(hours=5))
    return "hourly"


def test_the_slots_without_a_job_are_those_that_a_backfill_makes(world: World, hourly: str) -> None:
    schedules = world.queue.schedules
    schedules.backfill(hourly, slot(2), slot(3))

    assert schedules.missing_runs(hourly, slot(1), slot(9)) == [slot(1), slot(4), slot(5)]
    assert len(schedules.backfill(hourly, slot(1), slot(9))) == 3
    assert schedules.missing_runs(hourly, slot(1), slot(9)) == []


def test_a_look_writes_nothing(world: World, hourly: str) -> None:
    world.queue.schedules.missing_runs(hourly, slot(1), slot(9))

    assert len(world.queue.schedules.backfill(hourly, slot(1), slot(9))) == 5


def test_a_backfill_tells_how_far_it_is_with_slots_that_have_their_job_too(world: World, hourly: str) -> None:
    told: list[tuple[int, int]] = []
    world.queue.schedules.backfill(hourly, slot(1), slot(1))

    world.queue.schedules.backfill(hourly, slot(1), slot(3), progress=lambda done, total: told.append((done, total)))

    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_look_at_too_many_slots_or_at_no_schedule_is_refused(world: World, hourly: str) -> None:
    with pytest.raises(ScheduleNotFoundError):
        world.queue.schedules.missing_runs("none", slot(1), slot(2))
    with pytest.raises(InvalidOptionError, match="Backfill in parts"):
        world.queue.schedules.missing_runs(hourly, START - timedelta(days=500), slot(1))


def test_a_slot_whose_job_was_removed_by_retention_is_not_run_again_unless_that_is_wanted(
    world: World, hourly: str
) -> None:
    schedules = world.queue.schedules
    (job_id,) = schedules.backfill(hourly, slot(1), slot(1))
    assert world.work() == ["completed"]
    world.clock.advance(timedelta(days=7))
    world.table.write(Delete(key=keys.job(job_id), conditions=()))  # as the table's time to live does

    for act in (schedules.backfill, schedules.missing_runs):
        with pytest.raises(InvalidOptionError, match=r"kept for 7 days: .* not known any more"):
            act(hourly, slot(1), slot(9))

    recent = START + timedelta(days=7)
    assert len(schedules.backfill(hourly, recent, recent)) == 1
    assert schedules.missing_runs(hourly, slot(1), slot(1), beyond_retention=True) == [slot(1)]
    assert schedules.backfill(hourly, slot(1), slot(1), beyond_retention=True) == [job_id]
