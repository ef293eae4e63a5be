from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from functions.jobs.deliberation_timeout.handler import DeliberationTimeoutHandler
from leasehold import Outcome

if TYPE_CHECKING:
    from leasehold import Job
    from leasehold.kernel.payload import Json
    from tests.functions.jobs.conftest import Deploy


def decided(deploy: Deploy, votes: dict[str, Json]) -> tuple[Job, timedelta]:
    """The job of a deliberation that starts now, and how long after its start it ended."""
    test = deploy("deliberation_timeout", DeliberationTimeoutHandler)
    started_at = test.clock.now()
    job_id = test.queue.enqueue(
        "deliberation_timeout", {"petition_id": "p1", "started_at": started_at.isoformat(), "votes": votes}
    ).job_id
    test.drain(until_idle=True)
    job = test.queue.get(job_id)
    assert job.completed_at is not None
    return job, job.completed_at - started_at


@pytest.mark.parametrize(
    ("votes", "verdict"),
    [
        ({}, "escalate"),
        ({"clotho": "acknowledge"}, "escalate"),
        ({"clotho": "refer", "lachesis": "acknowledge"}, "escalate"),
        ({"clotho": "refer", "atropos": "refer"}, "refer"),
    ],
)
def test_when_time_is_up_a_majority_decides_and_else_the_petition_goes_up(
    deploy: Deploy, votes: dict[str, Json], verdict: str
):
    job, duration = decided(deploy, votes)
    assert job.result == {"petition_id": "p1", "verdict": verdict}
    assert duration == timedelta(minutes=5)


def test_a_deliberation_in_which_all_voted_is_left_alone(deploy: Deploy):
    job, duration = decided(deploy, {"clotho": "refer", "lachesis": "refer", "atropos": "escalate"})
    assert [run.outcome for run in job.runs] == [Outcome.SKIPPED]
    assert duration == timedelta(0)
