"""Debounce: a burst of calls makes one job, with the last payload; what comes after its start makes another."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Enqueued, JobStatus, NewJob, Within
from leasehold.kernel.errors import InvalidOptionError

if TYPE_CHECKING:
    from tests.contract.world import World

QUIET = timedelta(seconds=30)
MAX_WAIT = timedelta(seconds=70)


def call(world: World, number: int, *, max_wait: timedelta | None = None) -> Enqueued:
    return world.queue.enqueue("report", {"n": number}, dedup_key="u1", debounce=QUIET, max_wait=max_wait)


def test_a_burst_is_one_job_with_the_last_payload_that_runs_once_it_is_quiet(world: World) -> None:
    first = call(world, 1)
    for number in (2, 3):
        world.clock.advance(QUIET - timedelta(seconds=1))
        again = call(world, number)
        assert (again.created, again.job_id) == (False, first.job_id)
        assert world.poll().claimed == 0

    job = world.job(first.job_id)
    assert job.payload == {"n": 3}
    assert job.due is not None
    assert job.due.at == world.clock.now() + QUIET
    world.clock.advance(QUIET)
    assert world.poll().claimed == 1


def test_it_waits_no_longer_than_max_wait_from_the_first_call(world: World) -> None:
    first = call(world, 1, max_wait=MAX_WAIT)
    began = world.clock.now()
    for number in range(2, 6):
        world.clock.advance(timedelta(seconds=15))
        call(world, number, max_wait=MAX_WAIT)

    job = world.job(first.job_id)
    assert job.due is not None
    assert (job.due.at, job.payload) == (began + MAX_WAIT, {"n": 5})


def test_a_call_after_the_start_makes_a_job_of_its_own_and_loses_no_payload(world: World) -> None:
    first = call(world, 1)
    world.clock.advance(QUIET)
    assert world.poll().claimed == 1

    second, third = call(world, 2), call(world, 3)

    assert (second.created, third.created, third.job_id) == (True, False, second.job_id)
    assert world.job(first.job_id).payload == {"n": 1}
    assert world.job(second.job_id).payload == {"n": 3}


def test_a_job_that_was_cancelled_leaves_its_key_to_the_next_call(world: World) -> None:
    first = call(world, 1)
    world.queue.cancel(first.job_id, reason="not now")

    second = call(world, 2)

    assert second.created
    assert world.job(first.job_id).status is JobStatus.CANCELLED
    assert world.job(second.job_id).payload == {"n": 2}


def test_a_bulk_is_a_burst_like_any_other(world: World) -> None:
    jobs = [NewJob(job="report", payload={"n": n}, dedup_key="u1", debounce=QUIET) for n in range(3)]

    made = world.queue.enqueue_many(jobs)

    assert [isinstance(each, Enqueued) and each.created for each in made] == [True, False, False]
    assert isinstance(made[0], Enqueued)
    assert world.job(made[0].job_id).payload == {"n": 2}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"debounce": QUIET}, "debounce needs a dedup_key"),
        ({"debounce": QUIET, "dedup_key": "k", "run_in": QUIET}, "runs when its burst is over"),
        ({"debounce": QUIET, "dedup_key": "k", "dedup_window": Within(QUIET)}, "key is its own until it starts"),
        ({"debounce": timedelta(0), "dedup_key": "k"}, "longer than nothing"),
        ({"debounce": 30, "dedup_key": "k"}, "are timedeltas"),
        ({"max_wait": QUIET, "dedup_key": "k"}, "max_wait without debounce does nothing"),
        ({"debounce": QUIET, "max_wait": timedelta(seconds=1), "dedup_key": "k"}, "max_wait is shorter than debounce"),
        (
            {"debounce": QUIET, "dedup_key": "a", "start_by": datetime(2100, 1, 1, tzinfo=UTC)},
            "it has no start_by: .*Use max_wait",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(
    world: World, options: dict[str, object], reason: str
) -> None:
    with pytest.raises(InvalidOptionError, match=reason):
        world.queue.enqueue("report", {"n": 1}, **options)  # type: ignore[arg-type]
    world.clock.advance(timedelta(days=1))
    assert world.poll().claimed == 0
