"""Listings on every store: whatever is asked for, the pages together are what a naive filter finds, newest first."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobStatus
from leasehold.admin.pages import JobFilter
from leasehold.admin.reading import Reader
from leasehold.kernel.type_options import DELIVERY
from tests.contract.following import check, pages
from tests.contract.population import populate
from tests.contract.test_admin_reading import counted

if TYPE_CHECKING:
    from datetime import datetime

    from tests.contract.world import World


def filters(now: datetime) -> list[JobFilter]:
    """One for each plan, and each reason to choose it."""
    ago, ahead = now - timedelta(hours=3), now + timedelta(days=2)
    asked: list[dict[str, Any]] = [
        {},
        {"job_type": "report"},
        {"job_type": "gone"},
        *({"statuses": {status}} for status in JobStatus),
        *({"statuses": {status}, "job_type": "email"} for status in JobStatus),
        {"statuses": {"pending", "failed"}, "job_type": "report"},
        {"statuses": {"completed", "dead_letter"}},
        {"statuses": {"pending", "completed"}},
        {"scheduled_from": ago, "scheduled_to": now},
        {"scheduled_from": now, "statuses": {"pending"}},
        {"scheduled_to": ahead, "statuses": {"cancelled"}, "job_type": "email"},
        {"ended_from": ago, "ended_to": now - timedelta(hours=1)},
        {"ended_from": ago, "statuses": {"dead_letter"}},
        {"ended_from": ago, "statuses": {"pending"}},
        {"ended_from": ago, "concurrency_key": "tenant-1"},
        {"concurrency_key": "tenant-1"},
        {"concurrency_key": "tenant-1", "statuses": {"pending", "in_progress"}, "job_type": "keyed"},
        {"dedup_key": "order-1"},
        {"dedup_key": "order-1", "job_type": "report"},
        {"dedup_key": "order-1", "job_type": "report", "statuses": {"completed"}},
        {"dedup_key": "nobody"},
        {"group_id": "import"},
        {"group_id": "import", "statuses": {"completed"}, "job_type": "report"},
        {"schedule": "hourly"},
        {"template": "nightly"},
        {"template": "nightly", "statuses": {"pending"}},
    ]
    return [JobFilter(**each) for each in asked]


def test_every_kind_of_filter_finds_what_a_naive_one_does(world: World) -> None:
    jobs = populate(world)

    for wanted in filters(world.clock.now()):
        check(world, jobs, wanted, limit=7)


@pytest.mark.parametrize("engine", ["memory"], indirect=True)
def test_with_more_shards_than_one_page_can_merge_nothing_is_missed(world: World) -> None:
    jobs = populate(world, shards=11)

    for wanted, limit in product(filters(world.clock.now()), (1, 5, 100)):
        check(world, jobs, wanted, limit=limit)


def test_the_newest_come_first_and_a_page_says_by_what(world: World) -> None:
    populate(world)
    reader = Reader(world.services)

    completed = reader.jobs(JobFilter(statuses=frozenset({JobStatus.COMPLETED}), job_type="report"), limit=3)
    pending = reader.jobs(JobFilter(statuses=frozenset({JobStatus.PENDING}), job_type="report"), limit=3)

    ended = [job.completed_at for job in completed.items]
    assert (str(completed.order), len(ended)) == ("ended_at", 3)
    assert ended == sorted(ended, reverse=True, key=lambda at: at or world.clock.now())
    assert completed.reached == ended[-1]
    assert str(pending.order) == "due_at"


def test_a_job_that_ends_between_two_pages_is_shown_once_or_twice_but_stops_nothing(world: World) -> None:
    populate(world)
    reader = Reader(world.services)
    wanted = JobFilter(statuses=frozenset({JobStatus.PENDING}), job_type="report")
    first = reader.jobs(wanted, limit=2)

    world.queue.cancel(first.items[-1].job_id, reason="between two pages")
    second = reader.jobs(wanted, limit=100, cursor=first.cursor)

    seen = {job.job_id for job in [*first.items, *second.items]}
    assert seen >= {job.job_id for page in pages(world, wanted, 100) for job in page.items}


def test_the_system_s_own_jobs_are_listed_by_naming_their_type(world: World) -> None:
    job_id = world.queue.enqueue("report", webhook="https://example.com/hook").job_id
    world.work()
    world.claim()  # a poll does what the job owes: the delivery is made, and claimed
    reader = Reader(world.services)

    for statuses in (frozenset[JobStatus](), frozenset({JobStatus.IN_PROGRESS}), frozenset(JobStatus)):
        listed = reader.jobs(JobFilter(statuses=statuses, job_type=DELIVERY)).items
        assert [job.job_type for job in listed] == [DELIVERY]
        assert {job.job_id for job in reader.jobs(JobFilter(statuses=statuses)).items} <= {job_id}
    assert counted(reader, JobStatus.IN_PROGRESS) == 0
