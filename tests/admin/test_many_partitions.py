"""Listings of 100 types on 16 shards, 1,600 partitions: each page stays bounded, and so does the way to the end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from leasehold import BaseJobHandler, JobStatus, JobType, Queue, Registry
from leasehold.admin.pages import JobFilter
from leasehold.admin.reading import Reader
from leasehold.admin.scanning import MAX_REQUESTS
from leasehold.features import Store
from leasehold.kernel.keys import key_of
from leasehold.kernel.services import Services
from leasehold.testing import LeaseholdTest
from tests.contract.counted import CountedTable
from tests.docs.markdown import text_of

if TYPE_CHECKING:
    from leasehold import Job

TYPES = {f"type_{number:03}": JobType(name=f"type_{number:03}") for number in range(100)}
ONE = "type_042"
JOBS = 1600


@dataclass(frozen=True)
class Listed:
    jobs: list[Job]
    pages: int
    most: int
    requests: int


class Nothing(BaseModel):
    pass


class DoesNothing(BaseJobHandler[Nothing]):
    def handle(self, payload: Nothing) -> None:
        pass


@cache
def deployed(where: str) -> LeaseholdTest:
    """Half of the jobs are due and half are for later; what is due has run, or is held where its type is paused."""
    names = [ONE] if where == "of one type, the others empty" else [*TYPES]
    test = LeaseholdTest(dict.fromkeys(TYPES, DoesNothing))
    test.operator.publish(Registry(types=TYPES, shards=16))
    # After a deployment the poller looks for some minutes at lines that turn out to be empty.
    for _ in range(6):
        test.drain()
        test.clock.advance(timedelta(minutes=1))
    for name in names if where == "all types paused" else ():
        test.operator.pause(name, reason="to be held")
    for number in range(JOBS):
        test.queue.enqueue(names[number % len(names)], {}, run_in=timedelta(days=number % 30) if number % 2 else None)
    test.drain()
    return test


def listed(test: LeaseholdTest, asked: dict[str, Any]) -> Listed:
    """To its end, each page as a fresh process reads it."""
    jobs: list[Job] = []
    counts: list[int] = []
    cursor: str | None = None
    while cursor is not None or not counts:
        table = CountedTable(test.services.store.table)
        services = Services(store=Store(table), clock=test.clock)
        page = Reader(services).jobs(JobFilter(**asked), limit=50, cursor=cursor)
        counts.append(table.requests.total())
        jobs += page.items
        cursor = page.cursor
    return Listed(jobs, len(counts), max(counts), sum(counts))


SPREAD, ALONE, HELD = "of all types", "of one type, the others empty", "all types paused"
DONE = {"statuses": {JobStatus.COMPLETED}}
LISTINGS: dict[tuple[str, str], dict[str, Any]] = {
    ("a type", SPREAD): {"job_type": ONE},
    ("a type", ALONE): {"job_type": ONE},
    ("`completed`, of a type", ALONE): {"job_type": ONE, **DONE},
    ("none", SPREAD): {},
    ("none", ALONE): {},
    ("none", HELD): {},
    ("`completed`", SPREAD): DONE,
    ("`pending`", SPREAD): {"statuses": {JobStatus.PENDING}},
    ("`in_progress`", SPREAD): {"statuses": {JobStatus.IN_PROGRESS}},
    ("a template: no index knows it, nothing is found", SPREAD): {"template": "nightly"},
}
LONG = {("none", HELD), ("none", ALONE)}


# The two that walk the longest, and make a world of their own for it, are left to `make test-deep`.
@pytest.mark.parametrize(
    ("name", "where"),
    [pytest.param(*each, marks=pytest.mark.deep if each in LONG else ()) for each in LISTINGS],
)
def test_every_page_is_bounded_everything_is_found_once_and_the_page_says_what_it_takes(name: str, where: str) -> None:
    test, asked = deployed(where), LISTINGS[name, where]

    found = listed(test, asked)

    row = f"| {name} | {where} | {len(found.jobs):,} | {found.pages} | {found.requests:,} |"
    print(row)
    assert found.most <= MAX_REQUESTS
    expected = [job.job_id for job in test.jobs() if JobFilter(**asked).matches(job)]
    assert sorted(job.job_id for job in found.jobs) == sorted(expected)
    assert row in text_of("docs/admin.md")


def test_a_job_is_read_by_one_request_although_there_are_1600_partitions() -> None:
    test = deployed(SPREAD)
    job = test.jobs()[-1]
    table = CountedTable(test.services.store.table)

    assert Queue(Services(store=Store(table), clock=test.clock)).get(job.job_id) == job
    assert table.requests.total() == 1
    assert len({key_of(job.job_id).pk for job in test.jobs()}) > 900
