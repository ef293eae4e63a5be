"""A first page of 100,000 jobs takes at most ten requests, whatever is asked for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobStatus, JobType, NewJob
from leasehold.admin.pages import JobFilter
from leasehold.admin.planning import plan_of
from leasehold.admin.reading import Reader
from leasehold.admin.scanning import MAX_REQUESTS
from leasehold.kernel.job import DedupRef
from leasehold.kernel.jobs import ended_lane
from leasehold.kernel.keys import to_text
from leasehold.kernel.table import ENDED_INDEX, JOBS
from leasehold.testing import FakeClock
from tests import servers
from tests.cost import crowd
from tests.meter import Meter
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold import Job
    from tests.meter import Reading

ROOT = Path(__file__).parent.parent.parent
# Read units of the dearest page: eight requests of a thousand jobs each.
MOST_UNITS = 600
# Its leases last as long as those of the crowd.
REPORT = JobType(name="report", timeout=timedelta(minutes=59))
TYPES = [REPORT, JobType(name="email"), JobType(name="rare"), JobType(name="paused_report")]

# Where the few jobs of the crowd are that have everything.
DAYS_AGO = FakeClock().now() - timedelta(days=2, hours=23, minutes=55)

pytestmark = [pytest.mark.deep, pytest.mark.dynoxide, pytest.mark.slow, pytest.mark.timeout(300)]


def ended(status: JobStatus, job_type: str, count: int, clock: FakeClock, **fields: Any) -> Iterator[str]:
    at = clock.now() - timedelta(days=3)
    job: Job = crowd.waiting(job_type, at, at)
    lane, key = ended_lane(status, job_type), f"{to_text(at)}#{job.job_id}"
    done = replace(job, status=status, due=None, due_lane=None, completed_at=at, ended_lane=lane, ended_key=key)
    return crowd.stamped(replace(done, **fields), count)


def failed(job_type: str, count: int, clock: FakeClock) -> Iterator[str]:
    """Due for their next try in ten minutes."""
    at = clock.now() - timedelta(hours=2)
    job: Job = crowd.waiting(job_type, at, at)
    assert job.due is not None
    later = job.due._replace(at=clock.now() + timedelta(minutes=10))
    return crowd.stamped(replace(job, status=JobStatus.FAILED, attempts=1, due=later), count)


@pytest.fixture(scope="module")
def full(
    tmp_path_factory: pytest.TempPathFactory, dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> Iterator[RealQueue]:
    clock = FakeClock()
    lines = chain(
        crowd.finished("report", 50_000, clock.now()),
        crowd.finished("email", 10_000, clock.now()),
        ended(JobStatus.DEAD_LETTER, "report", 300, clock),
        ended(JobStatus.CANCELLED, "email", 700, clock),
        ended(JobStatus.COMPLETED, "report", 90, clock, template="nightly", schedule="hourly"),
        ended(JobStatus.COMPLETED, "rare", 9, clock, concurrency_key="tenant-1"),
        ended(JobStatus.COMPLETED, "rare", 1, clock, dedup=DedupRef("rare", "order-1", "-")),
        failed("email", 100, clock),
        crowd.future("report", 28_800, clock.now()),
        crowd.leased("report", 1_000, clock.now()),
        crowd.held("paused_report", 9_000, clock.now()),
    )
    database = crowd.database_of(lines, "listed-jobs", tmp_path_factory.mktemp("listed"))
    with servers.dynoxide(database=database, root=ROOT) as server:
        deployed = RealQueue(make_client(server.endpoint), TYPES, name="listed", clock=clock)
        deployed.operator.pause("paused_report", reason="the reports are wrong")
        lane = ended_lane(JobStatus.COMPLETED, "report")
        assert deployed.services.store.table.count(JOBS, lane, index=ENDED_INDEX, limit=10**6) == 50_090
        yield deployed
    database.unlink()


def combos(clock: FakeClock) -> Iterator[dict[str, Any]]:
    """Every status with every other field, every pair of other fields, and all of them at once."""
    now = clock.now()
    statuses: list[dict[str, Any]] = [{"statuses": {each}} for each in JobStatus]
    statuses += [{}, {"statuses": {"completed", "pending"}}, {"statuses": {"dead_letter", "cancelled"}}]
    others: list[dict[str, Any]] = [
        {"job_type": "report"},
        {"job_type": "rare"},
        {"scheduled_from": now - timedelta(days=2), "scheduled_to": now - timedelta(days=1)},
        {"ended_from": now - timedelta(days=2, hours=1)},
        {"dedup_key": "order-1"},
        {"concurrency_key": "tenant-1"},
        {"schedule": "hourly"},
        {"template": "nightly"},
    ]
    yield from ({**status, **other} for status in statuses for other in [{}, *others])
    yield from ({**one, **other} for one, other in combinations(others, 2) if not one.keys() & other.keys())
    yield {name: value for each in others for name, value in each.items()}


def measured(deployed: RealQueue, meter: Meter, wanted: JobFilter) -> tuple[Reading, int, bool]:
    """The first page as a process sees it that has read nothing yet: requests, units, rows, whether more may follow."""
    reader, found = Reader(deployed.process()), []
    reading = meter.during(lambda: found.append(reader.jobs(wanted, limit=50)))
    return reading, len(found[0].items), found[0].cursor is not None


def test_the_first_page_of_every_combination_takes_at_most_ten_requests(full: RealQueue) -> None:
    meter = Meter(full.client)
    registry = full.services.deployment.registry()
    print("\nplan, filter: requests, read units, rows, more may follow")
    for asked in combos(full.clock):
        wanted = JobFilter(**asked)
        reading, rows, has_more = measured(full, meter, wanted)
        names = {name: sorted(map(str, each)) if isinstance(each, set) else str(each) for name, each in asked.items()}
        figures = f"{reading.total_requests}, {reading.read_units:g}, {rows}, {has_more}"
        print(f"{plan_of(wanted, registry).name}, {names}: {figures}")
        assert reading.total_requests <= MAX_REQUESTS
        assert reading.read_units <= MOST_UNITS
        assert reading.writes == 0


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"job_type": "report"},
        {"statuses": {"completed"}},
        {"statuses": {"dead_letter"}, "job_type": "report"},
        {"statuses": {"cancelled"}},
        {"statuses": {"in_progress"}},
        {"statuses": {"pending"}},
        {"statuses": {"pending"}, "job_type": "paused_report"},
        {"statuses": {"failed"}},
        {"schedule": "hourly", "scheduled_to": DAYS_AGO},
    ],
)
def test_what_an_index_knows_fills_the_first_page(full: RealQueue, asked: dict[str, Any]) -> None:
    reading, rows, _ = measured(full, Meter(full.client), JobFilter(**asked))

    print(f"\n{asked}: {reading.total_requests} requests, {reading.read_units:g} read units")
    assert rows == 50


def test_a_rare_combination_is_found_by_going_on(full: RealQueue) -> None:
    wanted = JobFilter(statuses=frozenset({JobStatus.COMPLETED}), concurrency_key="tenant-1")
    reader, meter = Reader(full.process()), Meter(full.client)
    page = reader.jobs(wanted)
    found, pages = list(page.items), 1
    while page.cursor is not None:
        page = reader.jobs(wanted, cursor=page.cursor)
        found += page.items
        pages += 1

    reading = meter.take()
    print(f"\nall of the table: {pages} pages, {reading.total_requests} requests, {reading.read_units:g} read units")
    assert len(found) == 9
    assert reading.total_requests <= pages * MAX_REQUESTS


def test_members_of_a_group_are_found_by_their_numbers(full: RealQueue) -> None:
    full.queue.groups.create([NewJob(job="email", payload={"n": n}) for n in range(300)], group_id="import")
    for statuses, expected in ((frozenset(), 50), ({JobStatus.PENDING}, 50), ({JobStatus.FAILED}, 0)):
        wanted = JobFilter(group_id="import", statuses=frozenset(statuses))
        reading, rows, _ = measured(full, Meter(full.client), wanted)
        print(f"\n{sorted(statuses)} of a group: {reading.total_requests} requests, {reading.read_units:g} read units")
        assert rows == expected
        assert reading.total_requests <= MAX_REQUESTS


def test_figures_are_bounded(full: RealQueue) -> None:
    meter = Meter(full.client)
    reader = Reader(full.process())
    counts = []
    for name, read in (("counts", reader.counts), ("last hour", reader.last_hour), ("backlog", reader.backlog)):
        reading = meter.during(lambda read=read: counts.append(read()))  # type: ignore[misc]
        print(f"\n{name}: {reading.total_requests} requests, {reading.read_units:g} read units")
        assert meter.during(read).total_requests == 0  # kept for ten seconds
    statuses = counts[0].statuses
    assert str(statuses[JobStatus.COMPLETED]["report"]) == "10,000+"
    assert str(statuses[JobStatus.DEAD_LETTER]["report"]) == "300"
    assert str(statuses[JobStatus.IN_PROGRESS]["report"]) == "1,000"
    assert str(statuses[JobStatus.PENDING]["paused_report"]) == "9,000+"
