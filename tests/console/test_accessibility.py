"""Everybody can use it: with keys alone, with a screen reader, without motion. What axe-core finds: test_every_page."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from leasehold.kernel.enqueue import NewJob

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.console.working_queue import WorkingQueue

pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture
def dead_job(working: WorkingQueue) -> str:
    """Something of everything, so that no page is empty."""
    working.queue.schedules.create("morning", "greet", {}, cron="0 9 * * 1-5", timezone="Europe/Berlin")
    working.queue.groups.create([NewJob(job="greet"), NewJob(job="greet")], group_id="import-1")
    working.queue.enqueue("slow", {})
    working.queue.enqueue("greet", {}, run_in=timedelta(hours=1))
    job_id = working.queue.enqueue("charge", {"order": "o-1"}, dedup_key="o-1").job_id
    working.queue.wait(job_id)
    working.operator.pause("greet", reason="a closer look")
    return job_id


def show(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("main[aria-busy=false]")


def test_the_tab_key_reaches_everything_in_the_order_of_the_page_and_shows_where_it_is(
    page: Page, dead_job: str
) -> None:
    show(page, page.url.partition("#")[0] + f"#/jobs/{dead_job}")
    page.get_by_role("button", name="Pause updates").click()
    wanted = page.evaluate(
        """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
            .filter((each) => each.checkVisibility())
            .map((each, index) => { each.dataset.place = index; return index })"""
    )
    page.evaluate("document.activeElement.blur(); window.getSelection().removeAllRanges()")
    page.locator("#skip").evaluate("node => node.focus()")
    reached, hidden = [0], []
    for _ in wanted[1:]:
        page.keyboard.press("Tab")
        place, outline = page.evaluate(
            "() => [document.activeElement.dataset.place, getComputedStyle(document.activeElement).outlineStyle]"
        )
        reached.append(int(place))
        if outline == "none":
            hidden.append(place)

    assert reached == wanted
    assert hidden == []


def test_a_job_is_cancelled_with_keys_alone(page: Page, working: WorkingQueue) -> None:
    job_id = working.queue.enqueue("greet", {}, run_in=timedelta(hours=1)).job_id
    page.keyboard.press("g")
    page.keyboard.press("j")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.get_by_role("link", name=f"…{job_id[-12:]}").focus()
    page.keyboard.press("Enter")
    button = page.get_by_role("button", name="Cancel…")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Reason")).to_be_focused()

    # The dialog keeps the focus: tabbing never reaches the page behind it.
    for _ in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    expect(button).to_be_focused()

    page.keyboard.press("Enter")
    page.keyboard.type("with keys alone")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".summary .badge")).to_contain_text("Cancelled")
    assert working.queue.get(job_id).cancel_reason == "with keys alone"


def test_shortcuts_go_to_the_filter_and_do_nothing_while_one_types(page: Page) -> None:
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page.get_by_role("heading", level=1)).to_have_text("Dead letters")
    page.get_by_role("search").wait_for()
    page.keyboard.press("/")
    expect(page.get_by_label("Type")).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", level=1)).to_have_text("Dead letters")


def test_an_update_leaves_focus_and_open_details_alone_and_tells_of_the_change(
    page: Page, working: WorkingQueue
) -> None:
    job_id = working.queue.enqueue("slow", {}).job_id
    show(page, page.url.partition("#")[0] + f"#/jobs/{job_id}")
    expect(page.locator(".summary .badge")).to_contain_text("Running")
    payload = page.get_by_role("group", name="Payload")
    payload.focus()
    working.let_go.set()

    expect(page.get_by_role("status")).to_contain_text("The job is now: Completed")
    expect(page.locator(".summary .badge")).to_contain_text("Completed")
    expect(payload).to_be_focused()


def test_nothing_moves_where_motion_is_not_wanted(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    moving = page.evaluate(
        """() => [...document.querySelectorAll("*")].filter((each) => {
            const style = getComputedStyle(each);
            const takes = style.transitionDuration.split(",").some((one) => parseFloat(one) > 0);
            return takes || style.animationName !== "none";
        }).length"""
    )
    assert moving == 0
