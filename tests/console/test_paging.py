"""Long listings: page by page, and searches that go on where they were left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from leasehold.kernel import partitions
from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.table import Update

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.console.working_queue import WorkingQueue

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def test_older_jobs_are_shown_page_by_page_and_updates_leave_them_alone(page: Page, working: WorkingQueue) -> None:
    working.operator.pause("greet", reason="so that nothing moves")
    working.queue.enqueue_many(NewJob(job="greet", payload={"n": n}) for n in range(120))
    page.goto(page.url.partition("#")[0] + "#/jobs")
    rows = page.get_by_role("table", name="Jobs").locator("tbody tr")

    expect(rows).to_have_count(50)
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(100)
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(120)
    expect(page.get_by_text("Updates are off while older pages are shown.")).to_be_visible()
    page.get_by_role("button", name="Refresh").click()
    expect(rows).to_have_count(120)
    assert len({row.get_attribute("data-key") for row in rows.all()}) == 120


def test_a_search_that_found_nothing_yet_says_how_far_it_came_and_goes_on(page: Page) -> None:
    """What a large table answers: an empty page with a cursor, then what was looked for."""
    found = {
        "job_id": "01a1de8a-c9c0-8000-9c5f-3a5d8a1b2c3d",
        "job_type": "greet",
        "status": "completed",
        "priority": 1,
    }
    times = {"scheduled_for": "2026-11-15T09:30:00.000Z", "created_at": "2026-11-15T09:30:00.000Z"}
    item = {**found, **times, "attempts": 1, "max_attempts": 5}
    empty = {"items": [], "order": "scheduled_for", "is_ordered": True, "searched": 9000}
    page.route(
        "**/api/jobs?*",
        lambda route: route.fulfill(
            json={**empty, "items": [item], "searched": 500}
            if "cursor=" in route.request.url
            else {**empty, "cursor": "further", "reached": "2026-11-15T10:00:00.000Z"}
        ),
    )
    page.goto(page.url.partition("#")[0] + "#/jobs?dedup_key=rare")

    expect(page.get_by_text("Nothing found yet.")).to_be_visible()
    expect(page.get_by_text("Nothing found among the first 9,000, back to")).to_be_visible()
    page.get_by_role("button", name="Go on searching").click()
    expect(page.get_by_text("1 shown. 9,500 were looked at to find it.")).to_be_visible()
    expect(page.get_by_role("table", name="Jobs").locator("tbody tr")).to_have_count(1)


def test_a_server_that_is_gone_is_told_and_found_again(page: Page) -> None:
    page.goto(page.url.partition("#")[0] + "#/control")
    expect(page.get_by_role("table", name="Job types")).to_be_visible()
    page.route("**/api/**", lambda route: route.abort())
    page.get_by_role("button", name="Refresh").click()
    banner = page.get_by_role("alert").filter(has_text="This could not be shown.")
    expect(banner).to_contain_text("The console's server does not answer.")
    expect(page.get_by_role("table", name="Job types")).to_be_visible()  # what was known stays

    page.unroute("**/api/**")
    page.get_by_role("button", name="Try again").click()
    expect(banner).to_have_count(0)


@pytest.mark.parametrize(
    "place", ["nowhere", "jobs/%", "jobs?scheduled_from=never", "jobs/nonsense", "groups/..%2F..", "%"]
)
def test_an_address_that_leads_nowhere_says_so(page: Page, place: str) -> None:
    page.goto(page.url.partition("#")[0] + f"#/{place}")

    problem = page.get_by_role("alert").filter(has_text="This could not be shown.")
    expect(problem.or_(page.get_by_role("heading", level=1, name="There is no such page"))).to_be_visible()


def test_a_damaged_dead_letter_is_named_and_hides_no_other(page: Page, working: WorkingQueue) -> None:
    for order in ("o-1", "o-2"):
        working.queue.enqueue("charge", {"order": order})
    page.goto(page.url.partition("#")[0] + "#/dead-letters")
    rows = page.get_by_role("table", name="Open dead letters").locator("tbody tr")
    expect(rows).to_have_count(2)
    damaged = next(working.operator.dead_letters())
    key = partitions.dead_letter(damaged.id)
    working.services.store.table.write(Update(key=key, conditions=(), sets={"failed_at": "never"}))

    page.get_by_role("button", name="Refresh").click()

    expect(page.get_by_text("1 entry cannot be read")).to_be_visible()
    expect(page.locator(".further code")).to_have_text(damaged.id)
    expect(rows).to_have_count(1)
