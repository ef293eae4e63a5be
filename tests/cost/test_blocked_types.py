"""A type that may not run costs the others nothing, however many of its jobs wait."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leasehold import JobType, NewJob, Priority
from leasehold.kernel.poll import Poller, PollSettings
from leasehold.kernel.table import DUE_INDEX, JOBS
from leasehold.limits.lanes import hold_lane, queue_of
from leasehold.testing import FakeClock
from tests import servers
from tests.cost import crowd
from tests.meter import Meter, Reading
from tests.real_queue import Inbox, RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

ROOT = Path(__file__).parent.parent.parent
WAITING = 10_000
# So many are enqueued and held by a real poll; the others are loaded in the same shape.
HELD_FOR_REAL = 50
A_MINUTE = timedelta(minutes=1)
POLLS_A_MINUTE = 12
AT_MOST = 1.2

pytestmark = [pytest.mark.dynoxide, pytest.mark.slow, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Blocked:
    job_type: JobType
    is_paused: bool = False
    key: str | None = None

    @property
    def lane(self) -> str:
        return hold_lane(queue_of(self.job_type.name, self.key), Priority.NORMAL)


_LONG = timedelta(hours=10)
CASES = {
    "paused": Blocked(JobType(name="blocked"), is_paused=True),
    "at its concurrency limit": Blocked(JobType(name="blocked", concurrency=1, timeout=_LONG)),
    "with a key at its limit": Blocked(JobType(name="blocked", concurrency_per_key=1, timeout=_LONG), key="tenant-1"),
}

ALWAYS = "with a key at its limit"


def poll(deployed: RealQueue) -> Inbox:
    inbox = Inbox()
    # Without a share for lower priorities, hold lanes are always read in the same order: no figure depends on chance.
    settings = PollSettings(lower_share=0)
    Poller(deployed.process(), inbox, worker_id="poller", settings=settings).poll()
    return inbox


def block(deployed: RealQueue, blocked: Blocked, *, waiting: int) -> None:
    """Let one job run, which is all that may, and have so many wait behind it; nothing else is left to be looked at."""
    for pause in (timedelta(0), A_MINUTE, timedelta(hours=1)):
        deployed.clock.advance(pause)
        poll(deployed)  # the types are newly deployed, and their scopes are looked at for that
    if blocked.is_paused:
        deployed.operator.pause("blocked", reason="the reports are wrong")
    else:
        deployed.queue.enqueue("blocked", {"n": 0}, concurrency_key=blocked.key)
        assert len(poll(deployed).handovers) == 1
    deployed.queue.enqueue_many(
        NewJob(job="blocked", payload={"n": 1}, concurrency_key=blocked.key) for _ in range(waiting)
    )
    assert poll(deployed).handovers == []
    deployed.clock.advance(A_MINUTE)
    poll(deployed)


def measured(deployed: RealQueue) -> list[Reading]:
    """A minute of polls, each of which finds a job of another type."""
    meter = Meter(deployed.client)
    readings = []
    for _ in range(POLLS_A_MINUTE):
        deployed.clock.advance(A_MINUTE / POLLS_A_MINUTE)
        job_id = deployed.queue.enqueue("report", {"n": 1}).job_id
        inboxes: list[Inbox] = []
        readings.append(meter.during(lambda found=inboxes: found.append(poll(deployed))))  # type: ignore[misc]
        assert [handover.job_id for handover in inboxes[0].handovers] == [job_id]
    return readings


# One of them in `make test`, all of them in `make test-deep`.
@pytest.fixture(params=[*(pytest.param(each, marks=pytest.mark.deep) for each in CASES if each != ALWAYS), ALWAYS])
def blocked(request: pytest.FixtureRequest) -> Blocked:
    return CASES[request.param]


@pytest.fixture
def crowded(tmp_path: Path, blocked: Blocked, make_client: Callable[[str], DynamoDBClient]) -> Iterator[RealQueue]:
    clock = FakeClock()
    lines = crowd.held("blocked", WAITING - HELD_FOR_REAL, clock.now(), key=blocked.key)
    database = crowd.database_of(lines, "full-jobs", tmp_path)
    with servers.dynoxide(database=database, root=ROOT) as server:
        deployed = deployed_on(make_client(server.endpoint), blocked, waiting=HELD_FOR_REAL, name="full", clock=clock)
        assert deployed.services.store.table.count(JOBS, blocked.lane, index=DUE_INDEX, limit=10**6) == WAITING
        yield deployed
    database.unlink()


def deployed_on(client: DynamoDBClient, blocked: Blocked, *, waiting: int, **options: object) -> RealQueue:
    deployed = RealQueue(client, [JobType(name="report"), blocked.job_type], **options)  # type: ignore[arg-type]
    block(deployed, blocked, waiting=waiting)
    return deployed


def test_10000_jobs_that_may_not_run_cost_the_polls_of_others_no_more_than_a_fifth(
    crowded: RealQueue,
    blocked: Blocked,
    dynoxide_endpoint: str,
    make_client: Callable[[str], DynamoDBClient],
    request: pytest.FixtureRequest,
) -> None:
    without = measured(deployed_on(make_client(dynoxide_endpoint), blocked, waiting=0))
    few = measured(deployed_on(make_client(dynoxide_endpoint), blocked, waiting=HELD_FOR_REAL))
    many = measured(crowded)

    requests = [sum(each.total_requests for each in readings) for readings in (without, few, many)]
    units = [sum(each.read_units for each in readings) for readings in (without, few, many)]
    alike = sum(one.requests == other.requests for one, other in zip(without, many, strict=True))
    print(
        f"\n{request.node.callspec.id}: {POLLS_A_MINUTE} polls without, with {HELD_FOR_REAL}, with {WAITING} blocked: "
        f"{requests} requests, {units} read units; {alike} polls made the same requests"
    )
    assert requests[2] <= AT_MOST * requests[0]
    assert units[2] <= AT_MOST * units[0]
    # The scope itself is looked at once a minute, and what that costs does not depend on how many wait in it.
    assert alike >= POLLS_A_MINUTE - 1
    assert [each.requests for each in many] == [each.requests for each in few]
    assert units[2] == units[1]
