"""What a poll costs depends on the work that is due now, and on nothing else that is in the table."""

from __future__ import annotations

import time
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, JobType, NewJob, Priority
from leasehold.kernel.jobs import ended_lane
from leasehold.kernel.keys import job_id_of_key, run_lane
from leasehold.kernel.poll import Poller
from leasehold.kernel.table import DUE_INDEX, ENDED_INDEX, JOBS
from leasehold.kernel.type_options import type_scope
from leasehold.limits.lanes import hold_lane
from leasehold.testing import FakeClock
from tests import servers
from tests.cost import crowd
from tests.meter import Meter
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

    from tests.meter import Reading

ROOT = Path(__file__).parent.parent.parent
FINISHED = 100_000
FUTURE = 100_000
LEASED = 1_000
PAUSED = 10_000
# So many of the paused jobs are enqueued and held by a real poll; the others are loaded in the same shape.
HELD_FOR_REAL = 200

# 211,000 jobs take a minute to make. `make bench` judges a poll beside 100,000 finished ones, too.
pytestmark = [pytest.mark.deep, pytest.mark.dynoxide, pytest.mark.slow, pytest.mark.timeout(300)]

TYPES = [JobType(name="report"), JobType(name="paused_report")]


def poll(deployed: RealQueue) -> Inbox:
    inbox = Inbox()
    Poller(deployed.process(), inbox, worker_id="poller").poll()
    return inbox


def hold_some(deployed: RealQueue) -> None:
    """Pause a type with due jobs, and let real polls hold them and park their scope."""
    deployed.operator.pause("paused_report", reason="the reports are wrong")
    deployed.queue.enqueue_many(NewJob(job="paused_report", payload={"n": n}) for n in range(HELD_FOR_REAL))
    poll(deployed)
    deployed.clock.advance(timedelta(minutes=1))
    poll(deployed)
    scope = deployed.services.store.lines.scope(type_scope("paused_report"))
    assert scope.is_waited_for
    assert scope.due_key is None


@pytest.fixture
def full(tmp_path: Path, dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> Iterator[RealQueue]:
    clock = FakeClock()
    started = time.monotonic()
    lines = chain(
        crowd.finished("report", FINISHED, clock.now()),
        crowd.future("report", FUTURE, clock.now()),
        crowd.leased("report", LEASED, clock.now()),
        crowd.held("paused_report", PAUSED - HELD_FOR_REAL, clock.now()),
    )
    database = crowd.database_of(lines, "full-jobs", tmp_path)
    print(f"\nloaded {FINISHED + FUTURE + LEASED + PAUSED:,} jobs in {time.monotonic() - started:.0f} s")
    with servers.dynoxide(database=database, root=ROOT) as server:
        deployed = RealQueue(make_client(server.endpoint), TYPES, name="full", clock=clock)
        hold_some(deployed)
        assert_is_full(deployed)
        yield deployed
    database.unlink()


def assert_is_full(deployed: RealQueue) -> None:
    """All of the jobs are there, in the indexes too, and look like what the engine itself writes."""
    table = deployed.services.store.table
    lane = run_lane(Priority.NORMAL, 0)
    assert table.count(JOBS, lane, index=DUE_INDEX, limit=10**6) == FUTURE + LEASED
    assert table.count(JOBS, ended_lane(JobStatus.COMPLETED, "report"), index=ENDED_INDEX, limit=10**6) == FINISHED
    lane = hold_lane("paused_report", Priority.NORMAL)
    assert table.count(JOBS, lane, index=DUE_INDEX, limit=10**6) == PAUSED
    ends = [table.query(JOBS, lane, index=DUE_INDEX, limit=1, newest_first=new) for new in (False, True)]
    loaded, real = (deployed.item(job_id_of_key(str(page.records[0]["SK"]))) for page in ends)
    assert real.keys() - {"wake"} == loaded.keys()
    assert real["due_lane"] == loaded["due_lane"]


def measured(deployed: RealQueue) -> tuple[Reading, Reading]:
    """An idle poll, and one that finds a job that has just fallen due."""
    meter = Meter(deployed.client)
    idle = meter.during(lambda: poll(deployed))
    job_id = deployed.queue.enqueue("report", {"n": 1}).job_id
    inboxes: list[Inbox] = []
    claiming = meter.during(lambda: inboxes.append(poll(deployed)))
    assert [handover.job_id for handover in inboxes[0].handovers] == [job_id]
    return idle, claiming


def test_a_poll_of_a_full_table_costs_what_a_poll_of_an_empty_one_does_and_claims_what_is_due(
    full: RealQueue, dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    empty = RealQueue(make_client(dynoxide_endpoint), TYPES)

    for name, in_empty, in_full in zip(("idle", "claiming"), measured(empty), measured(full), strict=True):
        print(
            f"{name} poll: {in_empty.total_requests} requests, {in_empty.read_units} read units in an empty table; "
            f"{in_full.total_requests} and {in_full.read_units} in a full one"
        )
        assert in_full.requests == in_empty.requests
        assert in_full.read_units <= 1.1 * in_empty.read_units
        assert in_full.write_units == in_empty.write_units
