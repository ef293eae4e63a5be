"""The pictures in docs/console: one made-up morning, always the same. `make screenshots` takes them."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playwright.sync_api import sync_playwright
from pydantic import BaseModel, Field

from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.job_type import JobType
from leasehold.kernel.ports import KnownIdentity
from leasehold.kernel.retry import Fixed
from leasehold.schemas.records import PayloadSchema, digest_of, write_schema
from leasehold.schemas.shape import shape_of
from leasehold.testing import FakeClock, LeaseholdTest
from tests.console.browser import MISSING, chromium
from tests.console.serving import serving
from tests.console.working_queue import OPERATOR
from tests.handlers import handler_that

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from leasehold.kernel.ports import Handover
    from leasehold.runtime.handler import JobContext

PICTURES = Path(__file__).parents[2] / "docs" / "console"
START = datetime(2026, 11, 16, 8, 30, tzinfo=UTC)
WIDE, NARROW = {"width": 1180, "height": 860}, {"width": 390, "height": 844}


class Summary(BaseModel):
    user: str = Field(description="Who gets it.")
    style: Literal["short", "long"] = "short"


class Morning(LeaseholdTest):
    """An hour of work: mostly well, until the mail server goes down for ten minutes."""

    def __init__(self) -> None:
        self._random_source = random.Random(7)
        self._goes_on = False
        self._is_mail_down = False
        settings = {
            "charge_card": JobType(name="charge_card", concurrency=10, max_attempts=3),
            "daily_summary": JobType(name="daily_summary", max_attempts=2, retry=Fixed(timedelta(seconds=20))),
            "import_rows": JobType(name="import_rows", concurrency=2, timeout=timedelta(minutes=10)),
            "user_sync": JobType(name="user_sync"),
        }
        handlers = {name: handler_that(self._handle) for name in settings}
        super().__init__(handlers, types=settings.values(), clock=FakeClock(START))
        self.services.store.table._name = "leasehold-prod-jobs"  # type: ignore[attr-defined]
        shape = shape_of(Summary)
        schema = PayloadSchema(digest=digest_of(shape), shape=shape, code="1", document=Summary.model_json_schema())
        write_schema("daily_summary", schema, self.services.store.table)
        self.services.identity = KnownIdentity(OPERATOR)

    def dispatch(self, handover: Handover, function: str | None) -> None:
        """Imports run for long: what was handed over goes on."""
        if not self._goes_on or handover.job_type != "import_rows":
            super().dispatch(handover, function)

    def _handle(self, context: JobContext) -> object:
        self.clock.advance(timedelta(milliseconds=self._random_source.randint(40, 900)))
        if context.job_type == "daily_summary" and self._is_mail_down:
            raise ConnectionRefusedError("smtp.example.com:587 refused the connection")
        return {"rows": self._random_source.randint(1, 900)}

    def work(self) -> None:
        for minute in range(60):
            self._is_mail_down = 40 <= minute < 50
            self._enqueue(minute)
            self.clock.advance(timedelta(milliseconds=self._random_source.randint(80, 400)))
            self.drain()
            self.clock.move_to(START + timedelta(minutes=minute + 1))
        self.clock.advance(timedelta(seconds=21))
        self.drain()
        self._leave_something()

    def _enqueue(self, minute: int) -> None:
        for number in range(self._random_source.randint(2, 6)):
            self.queue.enqueue("user_sync", {"user": f"u{minute}-{number}"})
        for number in range(self._random_source.randint(1, 4)):
            self.queue.enqueue("charge_card", {"order": f"o-{minute}{number}"}, dedup_key=f"o-{minute}{number}")
        if minute % 3 == 0:
            self.queue.enqueue("daily_summary", {"user": "ada", "style": "short"}, created_by="web")
        if minute % 11 == 0:
            withdrawn = self.queue.enqueue("charge_card", {"order": f"w-{minute}"}, run_in=timedelta(hours=1))
            self.queue.cancel(withdrawn.job_id, reason="the order was withdrawn")

    def _leave_something(self) -> None:
        """What is under way at the moment of the pictures."""
        self._goes_on = True
        self.queue.schedules.create(
            "morning", "daily_summary", {"user": "ada"}, cron="0 9 * * 1-5", timezone="Europe/Berlin"
        )
        self.queue.schedules.create("sync", "user_sync", every=timedelta(minutes=30))
        self.queue.groups.create([NewJob(job="user_sync") for _ in range(8)], mode="parallel", group_id="onboarding-17")
        for number in range(2):
            self.queue.enqueue("import_rows", {"file": f"s3://imports/{number}.csv"})
        self.drain()
        self.operator.pause("charge_card", reason="the provider asks us to wait")
        for number in range(14):
            self.queue.enqueue("charge_card", {"order": f"p-{number}"}, priority=2)
        for number in range(5):
            self.queue.enqueue("daily_summary", {"user": f"u{number}"}, run_in=timedelta(hours=number + 1))
        self.clock.advance(timedelta(seconds=9))


def open_page(browser: Browser, url: str, now: datetime, size: dict[str, int], scheme: str) -> Page:
    context = browser.new_context(
        viewport=size,  # type: ignore[arg-type]
        color_scheme=scheme,  # type: ignore[arg-type]
        locale="en-GB",
        timezone_id="UTC",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.clock.set_fixed_time(now)
    page.goto(url)
    page.wait_for_selector("main[aria-busy=false]")
    return page


def take(page: Page, address: str, name: str) -> None:
    page.goto(address)
    page.wait_for_selector("main[aria-busy=false]")
    page.wait_for_timeout(200)
    page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")
    print(f"took docs/console/{name}.png")


def take_all(browser: Browser) -> None:
    morning = Morning()
    morning.work()
    dead = next(iter(morning.operator.dead_letters())).id
    with serving(morning.services) as console:
        for scheme in ("light", "dark"):
            page = open_page(browser, console.url, morning.clock.now(), WIDE, scheme)
            take(page, f"{console.address}/#/overview", f"overview-{scheme}")
        page = open_page(browser, console.url, morning.clock.now(), WIDE, "light")
        take(page, f"{console.address}/#/jobs/{dead}", "job")
        take(page, f"{console.address}/#/jobs?status=pending&status=in_progress&status=dead_letter", "jobs")
        take(page, f"{console.address}/#/control", "control")
        page.goto(f"{console.address}/#/dead-letters")
        page.get_by_role("button", name="Redrive all that match").click()
        page.get_by_role("dialog").get_by_label("Reason").fill("the mail server is back")
        page.screenshot(path=PICTURES / "bulk-redrive.png")
        page.keyboard.press("Escape")
        take(page, f"{console.address}/#/schedules/morning", "schedule")
        page.get_by_role("button", name="Edit morning").click()
        page.wait_for_timeout(300)
        page.screenshot(path=PICTURES / "edit-schedule.png")
        page.keyboard.press("Escape")
        page.goto(f"{console.address}/#/jobs/{dead}")
        page.get_by_role("button", name="Edit and redrive").click()
        page.get_by_role("dialog").get_by_label("Style").select_option("long")
        page.get_by_role("dialog").get_by_label("Reason").fill("the short style needs the mail server")
        page.screenshot(path=PICTURES / "edit-and-redrive.png")
        narrow = open_page(browser, console.url, morning.clock.now(), NARROW, "dark")
        take(narrow, f"{console.address}/#/dead-letters", "narrow")


def main() -> None:
    program = chromium()
    if program is None:
        raise SystemExit(MISSING)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        take_all(browser)
        browser.close()


if __name__ == "__main__":
    main()
