"""What an operator does, in a real browser on a queue at work."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.transitions import JobStatus
from tests.console.working_queue import OPERATOR
from tests.worlds import require_reasons

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from leasehold.console.server import ConsoleServer
    from tests.console.working_queue import WorkingQueue

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def go(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name if name != "Audit" else "Audit trail")
    page.wait_for_selector("main[aria-busy=false]")


def do(page: Page, button: Locator, confirm: str, reason: str) -> None:
    """Press a button, give the reason that its dialog asks for, and confirm."""
    button.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name=confirm).click()
    expect(dialog).to_have_count(0)


def status(page: Page) -> Locator:
    return page.locator(".summary .badge")


def test_a_job_is_enqueued_fails_is_redriven_and_completes_and_all_of_it_is_on_record(
    page: Page, working: WorkingQueue
) -> None:
    go(page, "Jobs")
    page.get_by_role("button", name="Enqueue a job").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Type").select_option("charge")
    dialog.get_by_label("Payload").fill('{"order": "o-17"}')
    dialog.get_by_label("Reason").fill("the customer called")
    dialog.get_by_role("button", name="Enqueue it").click()

    # It is watched failing, twice, without anybody touching the page.
    expect(page.get_by_role("heading", level=1)).to_have_text("charge job")
    expect(status(page)).to_contain_text("Dead letter")
    expect(page.locator(".timeline")).to_contain_text("Failed")
    expect(page.get_by_role("alert").or_(page.locator(".banner")).first).to_be_attached()
    runs = page.get_by_role("table", name="Runs")
    expect(runs.get_by_role("row")).to_have_count(3)
    runs.locator("summary").first.click()
    expect(runs.get_by_text("Traceback (most recent call last)").first).to_be_visible()

    # It is found among the dead letters, and opened from there.
    go(page, "Dead letters")
    page.get_by_role("table").get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("charge job")
    working.repaired.set()
    do(page, page.get_by_role("button", name="Redrive…", exact=True), "Redrive it", "the provider is back")
    expect(page.get_by_text("Its dead letter was redriven by")).to_contain_text("the provider is back")
    page.get_by_role("link", name="a new job", exact=True).click()
    expect(page.get_by_role("definition").filter(has_text="…")).to_have_count(1)  # what it is a retry of
    expect(status(page)).to_contain_text("Completed")

    go(page, "Control")
    do(page, page.get_by_role("button", name="Pause greet"), "Pause it", "too many greetings")
    expect(page.get_by_role("row").filter(has_text="greet")).to_contain_text("Paused")
    assert working.operator.switches().pauses["greet"].by == OPERATOR

    go(page, "Audit")
    records = page.get_by_role("table").locator("tbody tr")
    expect(records.first).to_contain_text("too many greetings")
    told = [row.inner_text() for row in records.all()]
    for words in ("too many greetings", "the provider is back", "the customer called"):
        (record,) = [text for text in told if words in text]
        assert "assumed-role/Operators/ada" in record


def test_a_paused_type_waits_until_it_is_resumed(page: Page, working: WorkingQueue) -> None:
    go(page, "Control")
    do(page, page.get_by_role("button", name="Pause greet"), "Pause it", "a closer look")
    job_id = working.queue.enqueue("greet", {}).job_id
    page.goto(page.url.partition("#")[0] + f"#/jobs/{job_id}")
    expect(status(page)).to_contain_text("Pending")

    go(page, "Control")
    do(page, page.get_by_role("button", name="Resume greet"), "Resume it", "all is well")
    expect(page.get_by_role("row").filter(has_text="greet")).to_contain_text("Active")
    working.queue.wait(job_id)


def test_a_halt_is_seen_on_every_page_and_lifted_again(page: Page, working: WorkingQueue) -> None:
    go(page, "Control")
    do(page, page.get_by_role("button", name="Halt the system"), "Halt everything", "bad deploy")
    go(page, "Overview")
    banner = page.get_by_role("alert").filter(has_text="The system is halted")
    expect(banner).to_contain_text("bad deploy")

    go(page, "Control")
    do(page, page.get_by_role("button", name="Resume the system"), "Resume", "rolled back")
    expect(banner).to_have_count(0)
    assert working.operator.switches().halt is None


def test_a_bulk_redrive_shows_first_what_it_would_do_and_then_does_that(page: Page, working: WorkingQueue) -> None:
    made = working.queue.enqueue_many(NewJob(job="charge", payload={"order": n}) for n in range(7))
    for each in made:
        assert working.queue.wait(each.job_id).status is JobStatus.DEAD_LETTER  # type: ignore[union-attr]
    working.repaired.set()

    go(page, "Dead letters")
    page.get_by_role("button", name="Redrive all that match").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("Redrive 7 dead letters?")
    assert working.operator.backlog().dead_letters == 7  # a dry run changes nothing
    dialog.get_by_label("Reason").fill("the provider is back")
    dialog.get_by_role("button", name="Redrive 7").click()

    expect(page.get_by_text("7 of 7 dead letters redriven.").first).to_be_visible()
    expect(page.get_by_text("No dead letter is open.")).to_be_visible()


def test_the_filter_takes_effect_while_one_types_and_stands_in_the_address(page: Page, working: WorkingQueue) -> None:
    for name in ("ada", "bob"):
        working.queue.wait(working.queue.enqueue("greet", {}, dedup_key=name).job_id)
    working.queue.enqueue("greet", {}, run_in=timedelta(hours=1), dedup_key="eve")

    go(page, "Jobs")
    rows = page.get_by_role("table", name="Jobs").locator("tbody tr")
    expect(rows).to_have_count(3)
    page.keyboard.press("/")
    page.keyboard.press("Tab")
    page.get_by_label("Dedup key").press_sequentially("bob")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile("dedup_key=bob"))

    page.reload()
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Clear").click()
    expect(rows).to_have_count(3)
    page.get_by_label("Pending").check()
    expect(rows).to_have_count(1)
    page.get_by_label("Pending").uncheck()
    page.get_by_label("Dead letter", exact=True).check()
    expect(page.get_by_text("No job matches this filter.")).to_be_visible()


def test_a_waiting_job_is_reprioritised_run_now_and_one_is_cancelled(page: Page, working: WorkingQueue) -> None:
    first, second = (working.queue.enqueue("greet", {}, run_in=timedelta(hours=1)).job_id for _ in range(2))
    address = page.url.partition("#")[0]

    page.goto(f"{address}#/jobs/{first}")
    page.get_by_role("button", name="Priority…").click()
    page.get_by_role("dialog").get_by_label("Priority").select_option("Critical")
    page.get_by_role("dialog").get_by_label("Reason").fill("a VIP")
    page.get_by_role("dialog").get_by_role("button", name="Change it").click()
    expect(page.locator(".facts")).to_contain_text("critical")
    do(page, page.get_by_role("button", name="Run now…"), "Run it now", "a VIP")
    expect(status(page)).to_contain_text("Completed")

    page.goto(f"{address}#/jobs/{second}")
    do(page, page.get_by_role("button", name="Cancel…"), "Cancel the job", "withdrawn")
    expect(status(page)).to_contain_text("Cancelled")
    do(page, page.get_by_role("button", name="Purge…"), "Forget it for good", "asked to be forgotten")
    expect(page.get_by_role("group", name="Payload")).to_contain_text("purged")


def test_a_audit_entry_that_is_refused_says_why_and_changes_nothing(page: Page, working: WorkingQueue) -> None:
    job_id = working.queue.enqueue("slow", {}).job_id
    page.goto(page.url.partition("#")[0] + f"#/jobs/{job_id}")
    expect(status(page)).to_contain_text("Running")
    page.get_by_role("button", name="Cancel…").click()
    dialog = page.get_by_role("dialog")
    working.let_go.set()
    working.queue.wait(job_id)
    dialog.get_by_label("Reason").fill("too slow")
    dialog.get_by_role("button", name="Cancel the job").click()

    expect(dialog.get_by_role("alert")).to_contain_text("It has ended already.")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert working.queue.get(job_id).status is JobStatus.COMPLETED


def test_schedules_show_their_next_runs_and_are_paused_and_triggered(page: Page, working: WorkingQueue) -> None:
    working.queue.schedules.create("morning", "greet", {}, cron="0 9 * * 1-5", timezone="Europe/Berlin")

    go(page, "Schedules")
    page.get_by_role("link", name="morning").click()
    expect(page.locator(".timeline li")).to_have_count(5)
    do(page, page.get_by_role("button", name="Trigger morning"), "Trigger it", "now, please")
    expect(page.get_by_text("morning was triggered.")).to_be_visible()
    page.get_by_role("link", name="Its jobs").click()
    expect(page.get_by_role("table", name="Jobs").locator("tbody tr")).to_have_count(1)
    page.go_back()
    do(page, page.get_by_role("button", name="Pause morning"), "Pause it", "holidays")
    expect(page.get_by_text("None while it is off.")).to_be_visible()


def test_groups_show_how_far_they_are(page: Page, working: WorkingQueue) -> None:
    working.queue.groups.create([NewJob(job="greet"), NewJob(job="slow")], group_id="import-1")

    go(page, "Groups")
    expect(page.get_by_role("row").filter(has_text="import-1")).to_contain_text("1 of 2 jobs: 1 completed")
    page.get_by_role("link", name="import-1").click()
    expect(page.get_by_role("table").locator("tbody tr")).to_have_count(2)
    do(page, page.get_by_role("button", name="Cancel the group"), "Cancel the group", "not needed")


def test_updates_can_be_paused_and_an_outage_is_told(page: Page, working: WorkingQueue, console: ConsoleServer) -> None:
    go(page, "Control")
    page.get_by_role("button", name="Pause updates").click()
    working.operator.pause("greet", reason="elsewhere")
    page.get_by_role("button", name="Resume updates").click()
    expect(page.get_by_role("row").filter(has_text="greet")).to_contain_text("elsewhere")
    expect(page.get_by_role("button", name="Pause updates")).to_have_attribute("aria-pressed", "false")


def test_a_reason_may_stay_empty_unless_the_deployment_asks_for_one(page: Page, working: WorkingQueue) -> None:
    go(page, "Control")
    page.get_by_role("button", name="Pause greet").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Reason (optional)")).to_be_visible()
    dialog.get_by_role("button", name="Pause it").click()
    expect(page.get_by_role("row").filter(has_text="greet")).to_contain_text("no reason given")

    require_reasons(working.services)
    page.reload()
    page.wait_for_selector("main[aria-busy=false]")
    page.get_by_role("button", name="Resume greet").click()
    dialog.get_by_role("button", name="Resume it").click()
    assert dialog.get_by_label("Reason", exact=True).evaluate("each => each.validity.valueMissing")
    assert "greet" in working.operator.switches().pauses


def test_a_job_leads_to_its_logs_in_cloudwatch_or_names_the_command(page: Page, working: WorkingQueue) -> None:
    registry = working.services.deployment.registry(fresh=True)
    logged = replace(registry.types["greet"], logs="eu-west-1:/aws/lambda/greet")
    working.operator.publish(replace(registry, types={**registry.types, "greet": logged}))
    on_aws, elsewhere = (working.queue.enqueue(each, {}).job_id for each in ("greet", "slow"))

    page.goto(page.url.partition("#")[0] + f"#/jobs/{on_aws}")
    link = page.get_by_role("link", name="In CloudWatch (opens a new tab)")
    address = link.get_attribute("href") or ""
    assert address.startswith("https://eu-west-1.console.aws.amazon.com/cloudwatch/home?region=eu-west-1#logsV2:")
    assert on_aws in address
    assert "greet" in address
    assert (link.get_attribute("target"), link.get_attribute("rel")) == ("_blank", "noreferrer")

    page.goto(page.url.partition("#")[0] + f"#/jobs/{elsewhere}")
    expect(page.get_by_role("code").filter(has_text=f"leasehold logs {elsewhere}")).to_be_visible()
