"""Another program of this machine serves a page on a port of its own, in the operator's browser: it gets nothing."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from leasehold.console.server import ConsoleServer
    from tests.console.working_queue import WorkingQueue

pytestmark = [pytest.mark.slow, pytest.mark.browser]

# Each way answers with what it got hold of; what a browser refuses is an error, told in its place.
ATTACKS = """async (target) => {
  const tried = {};
  const attempt = async (name, way) => {
    try { tried[name] = String(await way()); } catch (error) { tried[name] = `refused: ${error.name}`; }
  };
  const halt = { method: "POST", credentials: "include", body: JSON.stringify({ reason: "stolen" }) };
  await attempt("read", async () => (await fetch(`${target}/api/jobs`, { credentials: "include" })).status);
  await attempt("session", async () => (await fetch(`${target}/session.json`, { credentials: "include" })).text());
  await attempt("simple post", async () =>
    (await fetch(`${target}/api/control/halt`, { ...halt, mode: "no-cors" })).type);
  await attempt("post with the header", async () =>
    (await fetch(`${target}/api/control/halt`, { ...halt, headers: { "X-Leasehold-Console": "guess" } })).status);
  await attempt("storage", () => Object.values(sessionStorage).concat(Object.values(localStorage)).join());
  await attempt("window", async () => {
    const opened = window.open(`${target}/`);
    await new Promise((done) => setTimeout(done, 1000));
    return opened.sessionStorage.getItem("leasehold-console");
  });
  await attempt("frame", async () => {
    const frame = document.createElement("iframe");
    frame.src = `${target}/`;
    document.body.append(frame);
    await new Promise((done) => setTimeout(done, 1000));
    return frame.contentWindow.sessionStorage.getItem("leasehold-console");
  });
  await attempt("form", async () => {
    const form = document.createElement("form");
    Object.assign(form, { method: "POST", action: `${target}/api/control/halt`, enctype: "text/plain" });
    form.target = "_blank";
    const field = document.createElement("input");
    Object.assign(field, { name: '{"reason": "stolen", "x": "', value: '"}' });
    form.append(field);
    document.body.append(form);
    form.submit();
    await new Promise((done) => setTimeout(done, 1000));
    return "sent";
  });
  return tried;
}"""


class Neighbour(ThreadingHTTPServer):
    """A development server, say, with somebody else's code in it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.seen: list[str] = []
        # Cookies do not tell ports apart: it can set one for the console's.
        self.planted = ""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Page(BaseHTTPRequestHandler):
    server: Neighbour

    def do_GET(self) -> None:
        self.server.seen.append(f"{self.path}\n{self.headers}")
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Set-Cookie", f"{self.server.planted}; Path=/")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>A neighbour</title>")

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def neighbour() -> Iterator[Neighbour]:
    with Neighbour() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_page_on_another_port_can_neither_steal_nor_use_the_session_nor_lock_it(
    page: Page, console: ConsoleServer, working: WorkingQueue, neighbour: Neighbour
) -> None:
    secret = console.url.partition("#token=")[2]
    assert secret not in page.url
    neighbour.planted = f"leasehold-console-{console.port}=planted"
    other = page.context.new_page()
    other.goto(neighbour.address)

    tried = other.evaluate(ATTACKS, console.address)

    assert secret not in str(tried) + "".join(neighbour.seen)
    assert tried["read"].startswith("refused")
    assert tried["session"].startswith("refused")
    assert tried["post with the header"].startswith("refused")
    assert working.operator.switches().halt is None
    # The operator's own page goes on, also after a reload with the planted cookie.
    page.reload()
    page.wait_for_selector("main[aria-busy=false]")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_the_printed_address_opens_the_console_again_in_a_tab_that_was_locked(
    page: Page, console: ConsoleServer
) -> None:
    tab = page.context.new_page()
    tab.goto(console.address)
    expect(tab.get_by_role("alert").filter(has_text="Open the address")).to_be_visible()

    tab.goto(console.url)
    tab.wait_for_selector("main[aria-busy=false]")

    expect(tab.get_by_role("heading", level=1)).to_have_text("Overview")
    assert "token" not in tab.url
