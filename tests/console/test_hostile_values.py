"""Whatever stands in a job is shown as text: nothing of it runs, nothing of it becomes markup."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from leasehold.kernel.enqueue import NewJob
from tests.handlers import handler_that

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from leasehold.runtime.handler import BaseJobHandler
    from tests.console.working_queue import WorkingQueue

pytestmark = [pytest.mark.slow, pytest.mark.browser]

HOSTILE = '<img src=x onerror="window.owned=1"><script>window.owned=1</script>"\'><svg onload=window.owned=1>'


def hostile_handler(message: str = HOSTILE) -> type[BaseJobHandler]:
    def work(context: object) -> object:
        raise ValueError(message)

    return handler_that(work)


@pytest.fixture
def hostile_job(working: WorkingQueue) -> str:
    """A job every text of which is hostile, dead and redriven with a hostile reason."""
    working.handlers["charge"] = hostile_handler()
    working.queue.schedules.create("hostile", "charge", {"x": HOSTILE}, every=timedelta(days=1), reason=HOSTILE)
    working.queue.groups.create([NewJob(job="charge", payload={"x": HOSTILE})], group_id="hostile")
    job_id = working.queue.enqueue(
        "charge",
        {HOSTILE: [HOSTILE]},
        dedup_key=HOSTILE,
        concurrency_key=HOSTILE,
        created_by=HOSTILE,
    ).job_id
    working.queue.wait(job_id)
    working.operator.pause("greet", reason=HOSTILE)
    working.operator.halt(reason=HOSTILE)
    return job_id


def test_hostile_values_are_shown_as_text_on_every_page(page: Page, hostile_job: str) -> None:
    address = page.url.partition("#")[0]
    pages = ["overview", "jobs", f"jobs/{hostile_job}", "dead-letters", "schedules", "schedules/hostile", "groups"]
    for name in [*pages, "groups/hostile", "control", "audit", "audit?target=%3Cscript%3E%23"]:
        page.goto(f"{address}#/{name}")
        page.wait_for_selector("main[aria-busy=false]")
        expect(page.get_by_text("The system is halted").first).to_be_visible()
        assert page.evaluate("window.owned") is None
        assert page.locator("main script, main svg[onload], main img, #halted img").count() == 0

    page.goto(f"{address}#/jobs/{hostile_job}")
    expect(page.get_by_role("group", name="Payload")).to_contain_text("<script>window.owned=1</script>")
    expect(page.locator(".facts")).to_contain_text(HOSTILE)


def test_the_browser_itself_refuses_markup_from_text(page: Page) -> None:
    careless = page.context.new_page()
    careless.goto(page.url)
    tried = careless.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>' } catch (error) { return error.name } }"
    )
    assert tried == "TypeError"


def test_the_page_cannot_be_framed_by_another_site(page: Page) -> None:
    framed = page.context.new_page()
    framed.set_content(f'<iframe src="{page.url.partition("#")[0]}"></iframe>')
    framed.wait_for_timeout(500)
    (frame,) = [each for each in framed.frames if each != framed.main_frame]
    assert frame.locator("#main").count() == 0


def test_another_site_in_the_same_browser_can_change_and_read_nothing(page: Page, working: WorkingQueue) -> None:
    address = page.url.partition("#")[0]
    other = page.context.new_page()
    other.route("http://evil.example/**", lambda route: route.fulfill(body="<h1>evil</h1>", content_type="text/html"))
    other.goto("http://evil.example/")
    tried = other.evaluate(
        """async (address) => {
            const told = async (options) => {
                try { return (await fetch(`${address}api/control/halt`, options)).status } catch (e) { return e.name }
            };
            return [
                await told({ method: "POST", credentials: "include", body: '{"reason":"x"}', mode: "no-cors" }),
                await told({ method: "POST", credentials: "include", headers: { "X-Leasehold-Console": "x" } }),
                await told({ credentials: "include" }),
            ];
        }""",
        address,
    )
    # Not even that there was an answer is told.
    assert tried == ["TypeError"] * 3
    assert working.operator.switches().halt is None
