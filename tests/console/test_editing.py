"""Schedules, templates and payloads, made and changed in the browser; most of it with keys alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import expect
from pydantic import BaseModel, Field

from leasehold.kernel.transitions import JobStatus
from leasehold.schedules.model import ScheduleNotFoundError
from leasehold.schemas.records import PayloadSchema, digest_of, write_schema
from leasehold.schemas.shape import shape_of
from tests.console.test_end_to_end import do, go, status

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.console.working_queue import WorkingQueue

pytestmark = [pytest.mark.slow, pytest.mark.browser]


class Charge(BaseModel):
    order: str = Field(description="Which order is paid.")
    cents: int = Field(gt=0)
    speed: Literal["slow", "fast"] = "slow"
    is_gift: bool = False
    lines: list[dict[str, int]] = []


@pytest.fixture
def typed(working: WorkingQueue) -> WorkingQueue:
    """`charge` has a model, as if its handler had said so at the deployment."""
    shape = shape_of(Charge)
    schema = PayloadSchema(digest=digest_of(shape), shape=shape, code="1", document=Charge.model_json_schema())
    write_schema("charge", schema, working.services.store.table)
    registry = working.services.deployment.registry(fresh=True)
    charge = replace(registry.types["charge"], schema=schema.digest)
    working.operator.publish(replace(registry, types={**registry.types, "charge": charge}))
    return working


def dialog_of(page: Page, button: str) -> Locator:
    """Opened with keys."""
    page.get_by_role("button", name=button, exact=True).focus()
    page.keyboard.press("Enter")
    return page.get_by_role("dialog")


def confirm(page: Page, dialog: Locator, button: str, reason: str) -> None:
    """With keys: what is typed last is the reason."""
    dialog.get_by_label("Reason").focus()
    page.keyboard.type(reason)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(dialog.get_by_role("button", name=button)).to_be_focused()
    page.keyboard.press("Enter")


def test_a_schedule_is_created_edited_paused_resumed_and_deleted(page: Page, working: WorkingQueue) -> None:
    go(page, "Schedules")
    dialog = dialog_of(page, "Create a schedule…")
    dialog.get_by_label("Name").fill("morning")
    dialog.get_by_label("Type").select_option("greet")
    expect(dialog.get_by_role("status")).to_contain_text("At 09:00 on Monday through Friday")
    cron = dialog.get_by_label("Cron line")
    cron.fill("0 25 * * *")
    expect(dialog.get_by_role("status")).to_contain_text("this cron line never comes due")
    cron.fill("30 8 * * 1-5")
    dialog.get_by_label("Timezone").fill("Asia/Tokyo")
    expect(dialog.get_by_role("status")).to_contain_text("At 08:30 on Monday through Friday")
    expect(dialog.get_by_role("status").get_by_role("listitem").first).to_contain_text("08:30")
    dialog.get_by_label("Payload").fill('{"who": "all"}')
    confirm(page, dialog, "Create it", "people like it")

    expect(page.get_by_role("heading", level=1)).to_have_text("Schedule morning")
    expect(page.locator(".summary")).to_contain_text("At 08:30 on Monday through Friday (Asia/Tokyo)")
    expect(page.locator(".timeline li")).to_have_count(5)
    for each in page.locator(".timeline li").all():
        expect(each).to_contain_text("08:30 GMT+9")
    assert working.queue.schedules.get("morning").payload_text == '{"who":"all"}'

    dialog = dialog_of(page, "Edit morning")
    expect(dialog.get_by_label("Cron line")).to_have_value("30 8 * * 1-5")
    dialog.get_by_label("It runs").select_option("At a fixed rate")
    expect(dialog.get_by_label("Cron line")).to_be_hidden()
    dialog.get_by_label("Minutes from one to the next").fill("90")
    expect(dialog.get_by_role("status")).to_contain_text("Every 90 minutes")
    dialog.get_by_label("Priority").select_option("High")
    confirm(page, dialog, "Save it", "more often")
    expect(page.locator(".summary")).to_contain_text("Every 90 minutes")
    changed = working.queue.schedules.get("morning")
    assert (changed.priority, changed.payload_text) == (2, '{"who":"all"}')

    do(page, page.get_by_role("button", name="Pause morning"), "Pause it", "holidays")
    expect(page.locator(".summary .badge")).to_contain_text("Paused")
    do(page, page.get_by_role("button", name="Resume morning"), "Resume it", "back")
    expect(page.locator(".summary .badge")).to_contain_text("Active")
    dialog = dialog_of(page, "Delete morning")
    confirm(page, dialog, "Delete it", "nobody reads it")
    expect(page.get_by_role("heading", level=1)).to_have_text("Schedules")
    with pytest.raises(ScheduleNotFoundError):
        working.queue.schedules.get("morning")


def test_a_schedule_with_a_wrong_timezone_is_refused_and_the_dialog_stays(page: Page) -> None:
    go(page, "Schedules")
    dialog = dialog_of(page, "Create a schedule…")
    dialog.get_by_label("Name").fill("morning")
    dialog.get_by_label("Timezone").fill("Berlin")
    expect(dialog.get_by_role("status")).to_contain_text("there is no such timezone")
    confirm(page, dialog, "Create it", "try it")

    expect(dialog.get_by_role("alert")).to_contain_text("there is no such timezone")
    expect(dialog.get_by_label("Name")).to_have_value("morning")


def test_a_template_is_created_used_edited_and_deleted(page: Page, typed: WorkingQueue) -> None:
    typed.repaired.set()
    go(page, "Templates")
    dialog = dialog_of(page, "Create a template…")
    dialog.get_by_label("Name").fill("gift")
    dialog.get_by_label("Type").select_option("charge")
    # The form is that of the type's model; a template gives only some of its fields.
    dialog.get_by_label("Is Gift").select_option("yes")
    dialog.get_by_label("Cents").fill("500")
    dialog.get_by_label("Description").fill("Vouchers")
    dialog.get_by_label("Wait between attempts").select_option("Always the same")
    dialog.get_by_label("Seconds to wait", exact=True).fill("7")
    confirm(page, dialog, "Create it", "often asked for")
    expect(page.get_by_role("heading", level=1)).to_have_text("Template gift")
    expect(page.get_by_role("group", name="Payload")).to_contain_text('"cents": 500')
    expect(page.locator(".facts")).to_contain_text("after 7 s")

    dialog = dialog_of(page, "Enqueue a job from gift")
    expect(dialog.get_by_label("Cents")).to_have_value("500")
    dialog.get_by_label("Order").fill("o-1")
    confirm(page, dialog, "Enqueue it", "the customer called")
    expect(status(page)).to_contain_text("Completed")
    expect(page.locator(".facts")).to_contain_text("gift")

    go(page, "Templates")
    dialog = dialog_of(page, "Edit gift")
    dialog.get_by_label("Description").fill("")
    dialog.get_by_label("Cents").fill("900")
    confirm(page, dialog, "Save it", "dearer now")
    expect(page.get_by_text("gift is changed.")).to_be_visible()
    changed = typed.queue.templates.get("gift")
    assert (changed.description, changed.payload_text) == (None, '{"cents":900,"is_gift":true}')
    assert changed.retry is not None  # what was not touched stays

    typed.queue.schedules.create("gifts", template="gift", payload={"order": "o-2"}, every=timedelta(days=1))
    dialog = dialog_of(page, "Delete gift")
    confirm(page, dialog, "Delete it", "too dear")
    expect(dialog.get_by_role("alert")).to_contain_text("gifts")
    page.keyboard.press("Escape")
    typed.queue.schedules.delete("gifts")
    dialog = dialog_of(page, "Delete gift")
    confirm(page, dialog, "Delete it", "too dear")
    expect(page.get_by_text("There are no templates.")).to_be_visible()


def test_a_dead_letter_is_edited_in_a_form_and_redriven_and_what_does_not_fit_is_refused(
    page: Page, typed: WorkingQueue
) -> None:
    big = 9007199254740993
    job_id = typed.queue.enqueue("charge", {"order": "o-1", "cents": 5, "lines": [{"id": big}]}).job_id
    typed.queue.wait(job_id)
    typed.repaired.set()
    page.goto(page.url.partition("#")[0] + f"#/jobs/{job_id}")
    dialog = dialog_of(page, "Edit and redrive…")
    expect(dialog.get_by_label("Order")).to_have_value("o-1")
    dialog.get_by_label("Cents").fill("-5")
    confirm(page, dialog, "Redrive it so", "the amount was wrong")
    expect(dialog.get_by_role("alert")).to_contain_text("payload.cents")
    expect(dialog.get_by_role("alert")).to_contain_text("is not more than 0")
    assert typed.queue.get(job_id).status is JobStatus.DEAD_LETTER

    dialog.get_by_role("button", name="Edit as JSON").click()
    text = dialog.get_by_label("Payload")
    text.fill(text.input_value().replace("-5", '"five"'))
    dialog.get_by_role("button", name="Redrive it so").click()
    expect(dialog.get_by_role("alert")).to_contain_text("payload.cents")
    text.fill("{")
    dialog.get_by_role("button", name="Redrive it so").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The payload is not JSON")
    text.fill(f'{{"order": "o-1", "cents": 6, "lines": [{{"id": {big}}}]}}')
    dialog.get_by_role("button", name="Edit as a form").click()
    expect(dialog.get_by_label("Cents")).to_have_value("6")
    dialog.get_by_role("button", name="Redrive it so").click()

    expect(status(page)).to_contain_text("Completed")
    expect(page.get_by_role("group", name="Payload")).to_contain_text(f'"id": {big}')
    successor = typed.queue.get(page.url.rpartition("/")[2])
    assert successor.retry_of == job_id
    assert successor.payload == {"order": "o-1", "cents": 6, "lines": [{"id": big}]}
    page.goto(page.url.partition("#")[0] + f"#/audit?target=job%23{job_id}")
    expect(page.get_by_role("table")).to_contain_text("replace /cents")


def test_a_wrong_payload_is_refused_before_there_is_a_job(page: Page, typed: WorkingQueue) -> None:
    go(page, "Jobs")
    dialog = dialog_of(page, "Enqueue a job…")
    dialog.get_by_label("Type").select_option("charge")
    dialog.get_by_label("Order").fill("o-9")
    dialog.get_by_label("Cents").fill("0")
    confirm(page, dialog, "Enqueue it", "try it")

    expect(dialog.get_by_role("alert")).to_contain_text("payload.cents")
    page.keyboard.press("Escape")
    expect(page.get_by_text("There are no jobs yet.")).to_be_visible()


def test_many_jobs_are_cancelled_after_a_preview(page: Page, working: WorkingQueue) -> None:
    made = [working.queue.enqueue("greet", {}, run_in=timedelta(hours=1)) for _ in range(30)]
    other = working.queue.enqueue("slow", {}, run_in=timedelta(hours=1)).job_id
    go(page, "Jobs")
    page.get_by_role("button", name="Cancel all that match").click()
    expect(page.get_by_text("Filter by something besides the status first")).to_be_visible()

    page.get_by_label("Type").select_option("greet")
    expect(page.get_by_role("table", name="Jobs").locator("tbody tr")).to_have_count(30)
    page.get_by_role("button", name="Cancel all that match").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("Cancel 30 jobs?")
    expect(dialog).to_contain_text("30 greet (pending)")
    assert working.queue.get(made[0].job_id).status is JobStatus.PENDING  # a preview changes nothing
    dialog.get_by_label("Reason").fill("not needed any more")
    dialog.get_by_role("button", name="Cancel 30").click()

    expect(page.get_by_text("30 of 30 jobs cancelled, or asked to stop.").first).to_be_visible()
    assert {working.queue.get(each.job_id).status for each in made} == {JobStatus.CANCELLED}
    assert working.queue.get(other).status is JobStatus.PENDING
