"""How long ended jobs are kept: by outcome, through the table's own expiry, and never with anything left undone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Cancel, JobStatus, JobType, NewJob, NonRetryableError, Retention, Skip
from leasehold.kernel.partitions import dead_letter
from leasehold.kernel.retry import Fixed
from leasehold.kernel.type_options import OnFull
from tests.contract.world import TYPES

if TYPE_CHECKING:
    from datetime import datetime

    from tests.contract.world import World

HOUR = timedelta(hours=1)
KEPT = Retention(completed=HOUR, cancelled=2 * HOUR, dead_letter=3 * HOUR)
KEEPING = JobType(name="report", retention=KEPT, retry=Fixed(timedelta(seconds=30)), max_attempts=2)


@pytest.fixture
def keeping(world: World) -> World:
    world.deploy(KEEPING, *[each for each in TYPES if each.name != "report"])
    return world


def seconds(at: datetime) -> int:
    return int(at.timestamp())


@pytest.mark.parametrize(
    ("step", "status", "kept_for"),
    [
        pytest.param("done", JobStatus.COMPLETED, KEPT.completed, id="completed"),
        pytest.param(Skip("nothing to do"), JobStatus.COMPLETED, KEPT.completed, id="skipped"),
        pytest.param(Cancel("not needed"), JobStatus.CANCELLED, KEPT.cancelled, id="cancelled by its handler"),
    ],
)
def test_each_outcome_has_its_own_retention(
    keeping: World, step: object, status: JobStatus, kept_for: timedelta
) -> None:
    job_id = keeping.queue.enqueue("report").job_id
    keeping.script.then(step)  # type: ignore[arg-type]
    keeping.work()

    job = keeping.job(job_id)
    assert (job.status, job.expires_at) == (status, seconds(keeping.clock.now() + kept_for))


def test_a_job_that_an_operator_cancelled_and_one_that_was_too_late_are_kept_like_every_cancelled_one(
    keeping: World,
) -> None:
    cancelled = keeping.queue.enqueue("report", run_in=HOUR).job_id
    keeping.queue.cancel(cancelled, reason="not needed")
    late = keeping.queue.enqueue("report", start_by=keeping.clock.now() + timedelta(seconds=1)).job_id
    at = seconds(keeping.clock.now() + KEPT.cancelled)
    keeping.clock.advance(timedelta(seconds=1))
    keeping.poll()

    assert [keeping.job(job_id).expires_at for job_id in (cancelled, late)] == [at, at + 1]


def test_a_job_that_was_turned_away_is_kept_by_how_it_ended(world: World) -> None:
    for on_full, kept_for in ((OnFull.SKIP, KEPT.completed), (OnFull.CANCEL_NEW, KEPT.cancelled)):
        world.deploy(JobType(name="report", retention=KEPT, concurrency=1, on_full=on_full))
        occupant = world.queue.enqueue("report").job_id
        (handover,) = world.claim()
        job_id = world.queue.enqueue("report").job_id
        world.poll()

        assert world.job(job_id).expires_at == seconds(world.clock.now() + kept_for), on_full
        assert world.worker.run(handover) == "completed"
        assert world.status(occupant) is JobStatus.COMPLETED
        world.clock.advance(timedelta(minutes=2))
        world.poll()


def test_a_job_that_may_still_run_never_expires(keeping: World) -> None:
    waiting = keeping.queue.enqueue("report", run_in=HOUR).job_id
    failed = keeping.queue.enqueue("report").job_id
    keeping.script.then(RuntimeError())
    keeping.work()
    running = keeping.queue.enqueue("report").job_id
    keeping.claim()

    assert [keeping.job(job_id).expires_at for job_id in (waiting, failed, running)] == [None] * 3


@pytest.mark.parametrize("resolve", ["redrive", "discard"])
def test_a_dead_letter_is_kept_until_it_is_resolved_and_then_for_its_retention(keeping: World, resolve: str) -> None:
    dead = keeping.queue.enqueue("report").job_id
    keeping.script.then(NonRetryableError("never"))
    keeping.work()
    keeping.clock.advance(timedelta(days=900))
    stored = keeping.table.get(dead_letter(dead))
    assert stored is not None
    assert (keeping.job(dead).expires_at, stored.get("expires_at")) == (None, None)

    getattr(keeping.operator, resolve)(dead, reason="known")

    at = seconds(keeping.clock.now() + KEPT.dead_letter)
    stored = keeping.table.get(dead_letter(dead))
    assert stored is not None
    assert (keeping.job(dead).expires_at, stored["expires_at"]) == (at, at)


def test_a_job_that_owes_something_does_not_expire_before_it_is_done(keeping: World) -> None:
    """Else a halt that lasts longer than the retention would lose a member before its group has counted it."""
    job_id = keeping.queue.groups.create([NewJob(job="report")]).group.member_id(0)
    keeping.work()
    ended_at = keeping.clock.now()
    assert (keeping.status(job_id), keeping.job(job_id).expires_at) == (JobStatus.COMPLETED, None)

    keeping.clock.advance(5 * HOUR)
    keeping.poll()

    assert keeping.job(job_id).expires_at == seconds(ended_at + KEPT.completed)
