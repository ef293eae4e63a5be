"""Follow a listing from page to page, and compare it with what a naive filter finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.admin.pages import Order
from leasehold.admin.reading import Reader
from leasehold.admin.scanning import MAX_REQUESTS
from leasehold.features import Store
from leasehold.kernel.services import Services
from tests.contract.counted import CountedTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.admin.pages import JobFilter, Page
    from leasehold.kernel.job import Job
    from tests.contract.world import World

_NEWNESS: dict[Order, Callable[[Job], Any]] = {
    Order.SCHEDULED: lambda job: (job.scheduled_for, job.job_id),
    Order.ENDED: lambda job: (job.completed_at, job.job_id),
    Order.DUE: lambda job: job.due.key if job.due else "",
    Order.MEMBER: lambda job: job.member,
    Order.DEDUP_WINDOW: lambda job: job.dedup.window if job.dedup else "",
}


def pages(world: World, wanted: JobFilter, limit: int) -> list[Page[Job]]:
    """Every page as a fresh process reads it: nothing is cached, and each stays within its requests."""
    found: list[Page[Job]] = []
    cursor = None
    while cursor is not None or not found:
        table = CountedTable(world.table)
        services = Services(store=Store(table), clock=world.clock)
        page = Reader(services).jobs(wanted, limit=limit, cursor=cursor)
        assert table.requests.total() <= MAX_REQUESTS, (wanted, table.requests)
        assert len(page.items) <= limit
        assert list(page.items) == sorted(page.items, key=_NEWNESS[page.order], reverse=True)
        cursor = page.cursor
        found.append(page)
        assert len(found) < 200, f"{wanted} never ends"
    return found


def check(world: World, jobs: list[Job], wanted: JobFilter, limit: int) -> None:
    """The pages together are all that matches, each once, and in order where they say so."""
    found = pages(world, wanted, limit)
    listed = [job for page in found for job in page.items]
    expected = [job for job in jobs if wanted.matches(job)]
    assert sorted(job.job_id for job in listed) == sorted(job.job_id for job in expected), wanted
    if found[0].is_ordered:
        assert listed == sorted(listed, key=_NEWNESS[found[0].order], reverse=True)
