"""Two promises in figures, on a function that is warm: a burst is worked off quickly, and jobs start on time.

Each is measured once, from what the jobs themselves say (enqueued, started, completed), never from when this test
looked. They hold on an otherwise idle machine with two cores; what else runs there is part of the figures.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.domain.lifecycle import JobStatus
from tests.local_stack import LOCAL_AWS, PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.domain.ids import JobId
    from leasehold.domain.job import Job
    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS

BURST = 100
SCHEDULED = 50
AHEAD = timedelta(seconds=10)
SPREAD = timedelta(seconds=4)


def enqueue(stack: LocalStack, count: int, run_at: Callable[[int], datetime | None] = lambda _: None) -> list[JobId]:
    """Enqueue at once, by as many callers as a web server has threads.

    One by one: the stream of this local AWS does not show what a bulk insert (PartiQL) wrote, so that only the tick
    would find it.
    """

    def one(number: int) -> JobId:
        return stack.queue.enqueue("daily_summary", {"user_id": f"u{number}"}, run_at=run_at(number)).job_id

    with ThreadPoolExecutor(max_workers=8) as callers:
        return list(callers.map(one, range(count)))


def all_completed(stack: LocalStack, job_ids: Sequence[JobId]) -> list[Job]:
    def look() -> list[Job]:
        jobs = list(stack.queue.parts.store.jobs.get_many(job_ids).values())
        return jobs if all(job.has_ended for job in jobs) else []

    jobs = eventually(look, within=PATIENCE, every=0.5)
    assert [job.status for job in jobs] == [JobStatus.COMPLETED] * len(job_ids)
    assert {job.attempts for job in jobs} == {1}
    return jobs


@pytest.fixture(scope="module")
def warm(local_stack: LocalStack) -> LocalStack:
    """Larger and larger bursts: a hundred at once on cold functions would start a hundred processes on two cores."""
    for count in (5, 10, 20, 40, BURST, BURST):
        all_completed(local_stack, enqueue(local_stack, count))
    return local_stack


def test_a_hundred_jobs_enqueued_at_once_are_completed_within_five_seconds(
    warm: LocalStack, record_property: Callable[[str, object], None], capsys: pytest.CaptureFixture[str]
):
    began_at = datetime.now(UTC)
    job_ids = enqueue(warm, BURST)

    jobs = all_completed(warm, job_ids)

    assert len(jobs) == BURST
    took = max(job.completed_at for job in jobs if job.completed_at) - began_at
    record_property("burst_seconds", took.total_seconds())
    with capsys.disabled():
        print(f"\n{BURST} jobs, from the first enqueue to the last completion: {took.total_seconds():.2f} s")
    assert took < timedelta(seconds=5)


def test_jobs_scheduled_ten_seconds_ahead_start_within_a_second_of_their_time(
    warm: LocalStack, record_property: Callable[[str, object], None], capsys: pytest.CaptureFixture[str]
):
    first = datetime.now(UTC) + AHEAD
    job_ids = enqueue(warm, SCHEDULED, lambda number: first + SPREAD * number / SCHEDULED)

    jobs = all_completed(warm, job_ids)

    late = sorted((job.runs[0].started_at - job.scheduled_for).total_seconds() for job in jobs)
    assert len(late) == SCHEDULED
    p99 = late[-1]  # of fifty, the 99th percentile is the latest
    record_property("lateness_p99_seconds", p99)
    with capsys.disabled():
        print(f"\n{SCHEDULED} jobs, start minus due: median {late[SCHEDULED // 2]:.2f} s, p99 {p99:.2f} s")
    assert late[0] >= 0
    assert p99 < 1
