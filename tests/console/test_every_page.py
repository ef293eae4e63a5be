"""Every page and dialog, wide and narrow, light and dark, with hostile values: it fits, and axe-core finds nothing."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from playwright.sync_api import expect

from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.ports import KnownIdentity
from leasehold.kernel.registry import Registry
from tests.console.serving import serving
from tests.console.test_hostile_values import HOSTILE, hostile_handler
from tests.console.working_queue import OPERATOR, WorkingQueue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from leasehold.kernel.payload import Json

pytestmark = [pytest.mark.slow, pytest.mark.browser]

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
CHECKS = (Path(__file__).parent / "page_checks.js").read_text()
LONG = "x" * 200
NAME = "a-name-of-sixty-four-characters-" + "y" * 32
WIDTHS = (1280, 390)
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
PAGES = (
    *("overview", "jobs", "jobs?group_id=none&job_type=charge", "jobs/{dead}", "jobs/{gone}", "jobs/{running}"),
    *("dead-letters", "schedules", f"schedules/{NAME}", "templates", f"templates/{NAME}", "groups", f"groups/{NAME}"),
    *("control", "audit", f"nowhere/{LONG}", "jobs/no-such-job"),
)


@pytest.fixture(scope="module")
def things() -> Iterator[tuple[WorkingQueue, dict[str, str]]]:
    with WorkingQueue() as working:
        yield working, _furnish(working)


def _furnish(working: WorkingQueue) -> dict[str, str]:
    """Something of everything, and each text as long and as hostile as it may be."""
    working.services.identity = KnownIdentity(f"{OPERATOR}-{LONG}")
    working.handlers["charge"] = hostile_handler(f"{HOSTILE} {LONG}")
    queue = working.queue
    payload: Json = {HOSTILE: [HOSTILE, LONG], LONG: {"n": 9007199254740993}}
    queue.schedules.create(
        NAME, "charge", payload, cron="*/17 9-17 1,15 3-9 1,3,5", timezone="America/Argentina/ComodRivadavia"
    )
    queue.templates.create(
        NAME, "charge", payload, description=f"{HOSTILE} {LONG}", webhook=f"https://example.com/{LONG}"
    )
    queue.groups.create([NewJob(job="charge", payload=payload), NewJob(job="greet")], group_id=NAME, created_by=LONG)
    running = queue.enqueue("slow", payload).job_id
    gone = queue.enqueue("removed", {}, run_in=timedelta(hours=1)).job_id
    keys = {"dedup_key": f"{LONG} {HOSTILE}"[:256], "concurrency_key": LONG, "created_by": LONG}
    dead = queue.enqueue("charge", payload, **keys).job_id  # type: ignore[arg-type]
    queue.wait(dead)
    ended = queue.enqueue("greet", {}).job_id
    queue.wait(ended)
    types = working.services.deployment.registry(fresh=True).types
    working.operator.publish(Registry(types={name: each for name, each in types.items() if name != "removed"}))
    working.operator.pause("greet", reason=f"{HOSTILE} {LONG}"[:250])
    working.operator.halt(reason=f"{LONG} {HOSTILE}"[:250])
    return {"dead": dead, "running": running, "gone": gone, "ended": ended}


@pytest.fixture(scope="module")
def page(browser: Browser, things: tuple[WorkingQueue, dict[str, str]]) -> Iterator[Page]:
    with serving(things[0].services, name=f"leasehold-{LONG}") as server:
        context = browser.new_context(locale="en-GB", timezone_id="UTC", reduced_motion="reduce")
        context.set_default_timeout(15_000)
        opened = context.new_page()
        opened.goto(server.url)
        opened.wait_for_selector("main[aria-busy=false]")
        opened.get_by_role("button", name="Pause updates").click()
        yield opened
        context.close()


def show(page: Page, name: str) -> None:
    # Busy from here on: the page before it is not taken for this one, which would steal the focus when it comes.
    page.evaluate(
        """address => {
            if (location.hash === address) return;
            document.querySelector('main').setAttribute('aria-busy', 'true');
            location.hash = address;
        }""",
        f"#/{name}",
    )
    page.wait_for_function("name => document.querySelector('main').getAttribute('aria-busy') === 'false'", arg=name)
    page.wait_for_timeout(50)


def problems(page: Page, *schemes: Literal["light", "dark"]) -> list[str]:
    found = []
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        if not page.evaluate("() => 'axe' in window"):
            page.evaluate(AXE.read_text())
        found += [f"{scheme}: {each}" for each in page.evaluate(CHECKS)]
    return found


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_and_is_accessible(page: Page, things: tuple[WorkingQueue, dict[str, str]], width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    found = {}
    for name in PAGES:
        show(page, name.format(**things[1]))
        if wrong := problems(page, *SCHEMES):
            found[name] = wrong

    assert found == {}


ACTIONS = (
    *("overview", "jobs", "jobs?job_type=removed", "jobs/{dead}", "jobs/{gone}", "jobs/{running}", "jobs/{ended}"),
    *("dead-letters", "schedules", f"schedules/{NAME}", "templates", f"templates/{NAME}", f"groups/{NAME}", "control"),
)


# The wide one in `make test-deep`: a narrow page has the same actions, and less room for them.
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        pytest.param(width, scheme, marks=() if width == min(WIDTHS) else pytest.mark.deep)
        for width, scheme in zip(WIDTHS, SCHEMES, strict=True)
    ],
)
def test_every_action_is_reached_and_left_with_keys_and_its_dialog_fits_and_is_accessible(
    page: Page, things: tuple[WorkingQueue, dict[str, str]], width: int, scheme: Literal["light", "dark"]
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    found, titles = {}, set()
    for name in ACTIONS:
        show(page, name.format(**things[1]))
        for text in dict.fromkeys(page.locator("main button, #help").all_inner_texts()):
            if not text.endswith(("…", "?")) or (name == "jobs" and text.startswith("Cancel all")):
                continue
            button = page.locator("main button, #help").filter(has_text=text).first
            button.focus()
            page.keyboard.press("Enter")
            dialog = page.get_by_role("dialog")
            expect(dialog).to_be_visible()
            title = dialog.get_by_role("heading").first.inner_text()
            page.wait_for_timeout(100)
            if title not in titles and (wrong := problems(page, scheme)):
                found[f"{name} {text}"] = wrong
            titles.add(title)
            reached = []
            for _ in range(25):
                reached.append(page.evaluate("document.activeElement.type ?? document.activeElement.tagName"))
                page.keyboard.press("Tab")
            assert "submit" in reached or text == "?", (name, text)
            page.keyboard.press("Escape")
            expect(dialog).to_have_count(0)
            # Not `to_be_focused`, which wants the window's focus too: of several browsers at once one has it.
            page.wait_for_function("button => document.activeElement === button", arg=button.element_handle())

    assert found == {}
    assert len(titles) >= 20


def test_on_a_narrow_screen_the_filter_is_folded_and_the_navigation_scrolls_to_where_one_is(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    show(page, "jobs")
    expect(page.get_by_label("Dedup key")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.get_by_label("Type")).to_be_focused()

    show(page, "audit")
    navigation = page.get_by_role("navigation", name="Pages")
    assert navigation.evaluate("nav => nav.scrollWidth > nav.clientWidth && nav.scrollLeft > 0")
    expect(navigation.get_by_role("link", name="Audit")).to_be_in_viewport()


def test_an_unknown_address_is_named(page: Page) -> None:
    show(page, "job/abc")

    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    expect(page.locator("main")).to_contain_text("#/job/abc")


def test_a_type_that_is_not_deployed_is_named_with_its_waiting_jobs(
    page: Page, things: tuple[WorkingQueue, dict[str, str]]
) -> None:
    show(page, "overview")
    expect(page.locator("main")).to_contain_text("Jobs wait whose type is not deployed: removed (1)")
    show(page, "control")
    expect(page.get_by_role("row").filter(has_text="Not deployed")).to_contain_text("1 job waiting")
    show(page, f"jobs/{things[1]['gone']}")
    expect(page.locator(".summary")).to_contain_text("Not deployed")
