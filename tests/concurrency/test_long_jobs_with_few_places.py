"""1,000 ten-second jobs, five at a time: a backlog of 33 minutes in which waiting costs no job an attempt."""

from __future__ import annotations

from datetime import timedelta

import pytest

from leasehold import JobStatus, JobType, NewJob
from leasehold.testing import LeaseholdTest
from tests.concurrency.virtual_lambda import VirtualLambda

JOBS = 1000
PLACES = 5
DURATION = timedelta(seconds=10)
EVENT_AGE = timedelta(seconds=60)
AT_BEST = JOBS * DURATION / PLACES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def run_all(job_type: JobType, *, reserved: int, give_up_after: timedelta) -> tuple[VirtualLambda, timedelta]:
    test = LeaseholdTest(types=[job_type])
    test.queue.enqueue_many(NewJob(job=job_type.name, payload={"n": n}) for n in range(JOBS))
    function = VirtualLambda(test, concurrency=reserved, duration=DURATION, max_event_age=EVENT_AGE)

    took = function.run_until(lambda: function.completed == JOBS, give_up_after=give_up_after)

    print(
        f"\nlimit {job_type.concurrency}: {took} is {took / AT_BEST:.3f} of the best possible; "
        f"{function.dropped} events dropped, {function.polls} polls"
    )
    jobs = test.jobs()
    assert len(jobs) == JOBS
    assert {job.status for job in jobs} == {JobStatus.COMPLETED}
    assert {(job.attempts, len(job.runs)) for job in jobs} == {(1, 1)}
    assert list(test.operator.dead_letters()) == []
    assert function.most_running == PLACES
    return function, took


def test_a_type_with_five_places_runs_1000_ten_second_jobs_in_hardly_more_time_than_it_must() -> None:
    job_type = JobType(name="slow", concurrency=PLACES, timeout=timedelta(seconds=30), max_event_age=EVENT_AGE)

    # Lambda would run all of them at once: it is the queue that hands over no more than there are places.
    function, took = run_all(job_type, reserved=JOBS, give_up_after=2 * AT_BEST)

    assert function.dropped == 0
    assert took <= 1.1 * AT_BEST


def test_1000_jobs_whose_limit_only_lambda_knows_all_run_although_it_drops_most_of_the_hand_overs() -> None:
    job_type = JobType(name="slow", concurrency=None, timeout=timedelta(seconds=30), max_event_age=EVENT_AGE)

    function, _ = run_all(job_type, reserved=PLACES, give_up_after=timedelta(days=3))

    assert function.dropped > JOBS
