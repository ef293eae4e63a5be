"""A console on a queue at work, and a browser to look at it with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.console.browser import MISSING, chromium
from tests.console.serving import serving
from tests.console.working_queue import WorkingQueue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Page

    from leasehold.console.server import ConsoleServer


@pytest.fixture
def working() -> Iterator[WorkingQueue]:
    with WorkingQueue() as queue:
        yield queue


@pytest.fixture
def console(working: WorkingQueue) -> Iterator[ConsoleServer]:
    with serving(working.services) as server:
        yield server


# Not for the session: while it runs, its event loop is that of the whole process, and other tests have their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = chromium()
    if program is None:
        pytest.skip(MISSING)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser, console: ConsoleServer) -> Iterator[Page]:
    """The console, opened by its printed address. What the page logs as an error fails the test."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(15_000)
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(message.text) if _is_problem(message) else None)
    opened.goto(console.url)
    opened.wait_for_selector("main[aria-busy=false]")
    yield opened
    context.close()
    assert problems == []


def _is_problem(message: ConsoleMessage) -> bool:
    """Chromium logs every refused request as an error; the page itself tells of those."""
    return message.type == "error" and not message.text.startswith("Failed to load resource")
