"""Promises in figures: a burst is worked off quickly, on cold functions and on warm ones, and jobs start on time.

Each is measured once, from what the jobs themselves say (enqueued, started, completed), never from when this test
looked. They hold on an otherwise idle machine with two cores; what else runs there is part of the figures.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leasehold import Enqueued, NewJob
from leasehold.kernel.transitions import JobStatus
from tests.local_stack import LOCAL_AWS, PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from tests.local_stack import LocalStack

# Their time does not begin before all is quiet.
pytestmark = [pytest.mark.timeout(400, func_only=True), *LOCAL_AWS]

# Names the file in which `make test` says that nothing else runs any more.
QUIET = "LEASEHOLD_QUIET"
BURST = 100
SCHEDULED = 50
AHEAD = timedelta(seconds=10)
SPREAD = timedelta(seconds=4)


@pytest.fixture(scope="module", autouse=True)
def quiet(local_stack: LocalStack) -> None:
    if QUIET in os.environ:
        assert eventually(Path(os.environ[QUIET]).exists, within=timedelta(minutes=30))


def enqueue(stack: LocalStack, count: int, run_at: Callable[[int], datetime | None] = lambda _: None) -> list[JobId]:
    """Enqueue at once, by as many callers as a web server has threads."""

    def one(number: int) -> JobId:
        return stack.queue.enqueue("daily_summary", {"user_id": f"u{number}"}, run_at=run_at(number)).job_id

    with ThreadPoolExecutor(max_workers=8) as callers:
        return list(callers.map(one, range(count)))


def all_completed(stack: LocalStack, job_ids: Sequence[JobId]) -> list[Job]:
    def read() -> list[Job]:
        return list(stack.queue.services.store.jobs.get_many(job_ids).values())

    eventually(lambda: all(job.has_ended for job in read()), within=PATIENCE, every=0.5)
    jobs = read()
    assert [job for job in jobs if job.status is not JobStatus.COMPLETED] == []
    assert len(jobs) == len(job_ids)
    assert {job.attempts for job in jobs} == {1}
    return jobs


def test_a_first_bulk_of_a_hundred_jobs_on_cold_functions_is_completed_within_half_a_minute_without_a_tick(
    local_stack: LocalStack, capsys: pytest.CaptureFixture[str]
):
    for function in ("poller", "job-daily_summary"):
        local_stack.kill_function(function)
    # Where all is cold nobody waits. One that was killed while it waited would be waited for until the next tick.
    pollers = local_stack.queue.services.store.pollers
    waiting, _ = pollers.waiter_lease()
    if waiting is not None:
        pollers.release_waiter_lease(waiting)
    with local_stack.without_tick():
        began_at = datetime.now(UTC)
        made = local_stack.queue.enqueue_many(
            [NewJob(job="daily_summary", payload={"user_id": f"u{number}"}) for number in range(BURST)]
        )
        jobs = all_completed(local_stack, [each.job_id for each in made if isinstance(each, Enqueued)])

    assert len(jobs) == BURST
    took = max(job.completed_at for job in jobs if job.completed_at) - began_at
    with capsys.disabled():
        print(f"\n{BURST} jobs in one call, functions cold, woken by the stream: {took.total_seconds():.2f} s")
    assert took < timedelta(seconds=30)


@pytest.fixture(scope="module")
def warm(local_stack: LocalStack) -> LocalStack:
    """As many processes as a burst needs, and all of them used once."""
    for _ in range(3):
        all_completed(local_stack, enqueue(local_stack, BURST))
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
