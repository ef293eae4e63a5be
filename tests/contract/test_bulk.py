"""Bulk enqueue: conditional inserts, an answer for each, and one bad job does not stop the others."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Enqueued, JobStatus, NewJob, Rejected
from leasehold.kernel.errors import DuplicateJobError, InvalidPayloadError, UnknownJobTypeError
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from leasehold import OnDuplicate
    from leasehold.bulk.enqueue_many import BulkResult
    from tests.contract.world import World


def job_ids(results: list[BulkResult]) -> list[str]:
    return [each.job_id for each in results if isinstance(each, Enqueued)]


def test_sixty_jobs_are_enqueued_in_order_with_progress_and_all_run(world: World) -> None:
    told: list[tuple[int, int]] = []

    results = world.queue.enqueue_many(
        [NewJob(job="report", payload={"n": n}) for n in range(60)],
        progress=lambda done, all_: told.append((done, all_)),
    )

    made = job_ids(results)
    assert len(set(made)) == 60
    assert all(isinstance(each, Enqueued) and each.created for each in results)
    assert told == [(25, 60), (50, 60), (60, 60)]
    assert [world.job(job_id).payload for job_id in (made[0], made[59])] == [{"n": 0}, {"n": 59}]
    assert world.work() == ["completed"] * 60
    assert len(world.recorder.of(Event.JOB_ENQUEUED)) == 60


def test_valid_invalid_and_deduplicated_jobs_are_answered_each_in_its_place(world: World) -> None:
    existing = world.queue.enqueue("report", dedup_key="u1", run_in=timedelta(hours=1)).job_id

    results = world.queue.enqueue_many(
        [
            NewJob(job="report", payload={"n": 1}),
            NewJob(job="unheard_of"),
            NewJob(job="report", dedup_key="u1"),
            NewJob(job="report", payload={"n": float("nan")}),
            NewJob(job="report", dedup_key="u2"),
            NewJob(job="report", dedup_key="u2"),
            NewJob(job="email", run_in=timedelta(hours=1)),
        ]
    )

    plain, unknown, held, broken, fresh, double, later = results
    assert [isinstance(each, Rejected) for each in results] == [False, True, False, True, False, False, False]
    assert isinstance(unknown, Rejected)
    assert isinstance(unknown.error, UnknownJobTypeError)
    assert isinstance(broken, Rejected)
    assert isinstance(broken.error, InvalidPayloadError)
    assert held == Enqueued(job_id=world.job(existing).job_id, created=False)
    assert isinstance(fresh, Enqueued)
    assert double == Enqueued(job_id=fresh.job_id, created=False)
    assert all(isinstance(each, Enqueued) and each.created for each in (plain, fresh, later))
    assert world.work() == ["completed", "completed"]


@pytest.mark.parametrize("on_duplicate", ["raise", "replace"])
def test_what_a_duplicate_means_can_be_said_for_the_whole_bulk(world: World, on_duplicate: OnDuplicate) -> None:
    existing = world.queue.enqueue("report", dedup_key="u1", run_in=timedelta(hours=1)).job_id

    (result,) = world.queue.enqueue_many([NewJob(job="report", dedup_key="u1")], on_duplicate=on_duplicate)

    if isinstance(result, Rejected):
        assert on_duplicate == "raise"
        assert isinstance(result.error, DuplicateJobError)
        assert world.status(existing) is JobStatus.PENDING
    else:
        assert on_duplicate == "replace"
        assert (result.created, result.replaced) == (True, existing)
        assert world.status(existing) is JobStatus.CANCELLED


def test_a_bulk_that_is_written_again_after_a_lost_response_revives_no_finished_job(world: World) -> None:
    (job_id,) = job_ids(world.queue.enqueue_many([NewJob(job="report")]))
    waiting = world.job(job_id)
    world.work()
    finished = world.job(job_id)

    world.store.jobs.insert_many([waiting])

    assert world.job(job_id) == finished
    assert world.work() == []


def test_an_empty_bulk_is_no_work(world: World) -> None:
    assert world.queue.enqueue_many([]) == []
