"""Eight pollers at once on one backlog: every job runs, none twice, and they waste few writes on each other."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, JobType, NewJob
from leasehold.kernel.poll import Poller
from tests.concurrency.crew import Crew
from tests.concurrency.race import at_once
from tests.meter import Meter, Reading
from tests.real_queue import RealQueue
from tests.stored_jobs import stored_jobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.poll import PollReport

POLLERS = 8
PATIENCE_SECONDS = 100.0

pytestmark = pytest.mark.dynoxide


class Backlog:
    """Due jobs, pollers with a process of their own each, and what all of it cost."""

    def __init__(self, client: DynamoDBClient, jobs: int) -> None:
        self.jobs = jobs
        self.meter = Meter(client)
        self.deployed = RealQueue(client, [JobType(name="count")])
        self.deployed.queue.enqueue_many(NewJob(job="count", payload={"n": n}) for n in range(jobs))
        self.crew = Crew(self.deployed, expected=jobs)
        self.pollers = [Poller(self.deployed.process(), self.crew, worker_id=f"poller-{n}") for n in range(POLLERS)]
        self.meter.take()

    def assert_each_ran_once(self, reading: Reading, reports: list[PollReport]) -> None:
        self.crew.close()
        print(
            f"\n{self.jobs} jobs, {len(reports)} polls: {reading.refused_claims} refused claims, "
            f"{reading.refused_claims / self.jobs:.3f} per job; {reading.refusals.total()} refused writes of all kinds"
        )
        assert self.crew.handled == dict.fromkeys(range(self.jobs), 1)
        stored = stored_jobs(self.deployed.services)
        assert Counter(job.status for job in stored) == {JobStatus.COMPLETED: self.jobs}
        assert all(len(job.runs) == 1 for job in stored)
        assert sum(report.claimed for report in reports) == self.jobs
        # A batch that meets another poller ends at its first lost race: this engine does not say who has the others.
        assert sum(report.lost_races for report in reports) <= reading.refused_claims
        assert reading.refused_claims <= 0.5 * self.jobs


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_eight_pollers_run_500_due_jobs_once_each_and_waste_at_most_half_a_claim_per_job(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    backlog = Backlog(make_client(dynoxide_endpoint), jobs=500)
    give_up_at = time.monotonic() + PATIENCE_SECONDS

    def poll_until_all_ended(poller: Poller) -> list[PollReport]:
        # Who found another poller at work comes back at once: the hardest case for the claims.
        reports = []
        while not backlog.crew.all_ended.is_set() and time.monotonic() < give_up_at:
            reports.append(poller.poll())
        return reports

    reports = at_once([partial(poll_until_all_ended, poller) for poller in backlog.pollers])

    backlog.assert_each_ran_once(backlog.meter.take(), [report for each in reports for report in each])


def test_eight_pollers_woken_together_by_twenty_jobs_run_each_once_and_leave_none(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    # Fewer jobs than a page holds: nobody asks for the watch before the first race is lost.
    backlog = Backlog(make_client(dynoxide_endpoint), jobs=20)

    reports = at_once([poller.poll for poller in backlog.pollers])

    backlog.assert_each_ran_once(backlog.meter.take(), reports)
