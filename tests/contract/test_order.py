"""The order within a lane, and the two simple ways to change it: reprioritise, and run now."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Enqueued, NewJob, Priority
from tests.contract.line import Line

if TYPE_CHECKING:
    from tests.contract.world import World


@pytest.fixture
def line(world: World) -> Line:
    return Line(world)


def test_a_reprioritised_job_runs_among_those_of_its_new_priority_in_the_order_of_its_time(line: Line) -> None:
    line.enqueue("ab")
    line.enqueue("c", priority=Priority.HIGH)

    line.world.queue.reprioritise(line.ids["b"], Priority.HIGH)

    assert line.job("b").priority is Priority.HIGH
    assert line.claimed() == "bca"


def test_a_waiting_job_is_run_now_by_rescheduling_it_to_no_time_in_particular(line: Line) -> None:
    line.enqueue("a", run_in=timedelta(days=3))

    line.world.queue.reschedule(line.ids["a"])

    assert line.claimed() == "a"


def test_jobs_that_are_enqueued_in_one_call_run_in_the_order_of_that_call(line: Line) -> None:
    results = line.world.queue.enqueue_many(NewJob(job="report", payload={"n": n}) for n in range(60))
    made = [each.job_id for each in results if isinstance(each, Enqueued)]

    assert [handover.job_id for handover in line.world.claim()] == made
