"""Who is let in: every rule of leasehold.console.security, over real HTTP."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest

from tests.console.knocking import Door, scripts_and_styles

if TYPE_CHECKING:
    from leasehold.console.server import ConsoleServer
    from tests.console.working_queue import WorkingQueue

HALT = "/api/control/halt"
REASON = json.dumps({"reason": "by somebody"})


@pytest.fixture
def door(console: ConsoleServer) -> Door:
    return Door(console)


def test_it_listens_on_the_loopback_interface_only(console: ConsoleServer):
    assert console.server_address[0] == "127.0.0.1"
    elsewhere = socket.gethostbyname(socket.gethostname())
    if not elsewhere.startswith("127."):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((elsewhere, console.port), timeout=2)


def test_the_page_of_the_console_may_change_things(door: Door, working: WorkingQueue):
    assert door.knock("POST", HALT, door.keys(), REASON).status == 200
    halt = working.operator.switches().halt
    assert halt is not None
    assert halt.reason == "by somebody"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1.evil.example:{port}", "[::1]:{port}", "", None]
)
@pytest.mark.parametrize("path", ["/", "/api/jobs", "/js/main.js"])
def test_a_foreign_host_is_refused_whatever_it_knows(door: Door, host: str | None, path: str):
    named = None if host is None else host.format(port=door.server.port)

    answer = door.knock("GET", path, {**door.keys(), "Host": named})

    assert (answer.status, answer.code) == (421, "foreign_host")


def test_localhost_by_name_is_the_same_console(door: Door):
    host = f"localhost:{door.server.port}"
    keys = {**door.keys(), "Host": host, "Origin": f"http://{host}"}

    assert door.knock("POST", HALT, keys, REASON).status == 200


@pytest.mark.parametrize("path", ["/session.json", "/api/jobs", "/api/nowhere", "/audit-check.json?target=x"])
@pytest.mark.parametrize("secret", [None, "", "guess", "{secret}x", "\xff"])
def test_without_the_secret_nothing_is_told(door: Door, path: str, secret: str | None):
    sent = None if secret is None else secret.format(secret=door.key()["X-Leasehold-Console"])

    answer = door.knock("GET", path, {"X-Leasehold-Console": sent})

    assert (answer.status, answer.code) == (401, "locked")


def test_the_secret_is_sent_in_no_address_and_in_no_cookie(door: Door):
    secret = str(door.key()["X-Leasehold-Console"])
    address, _, fragment = door.server.url.partition("#")
    assert (address, fragment) == (f"{door.server.address}/", f"token={secret}")

    for path in (f"/?token={secret}", f"/session.json?token={secret}"):
        answer = door.knock("GET", path, {"Cookie": f"leasehold-console-{door.server.port}={secret}"})
        assert "Set-Cookie" not in answer.headers
        assert secret not in answer.body


def test_no_cookie_of_anybody_locks_the_console(door: Door):
    cookies = f"leasehold-console-{door.server.port}=planted; a=b; \xff=;;; leasehold-console=x"

    assert door.knock("GET", "/session.json", {**door.key(), "Cookie": cookies}).status == 200


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"Origin": "https://evil.example"}, "foreign_origin"),
        ({"Origin": "null"}, "foreign_origin"),
        ({"Origin": "http://127.0.0.1:1"}, "foreign_origin"),
        ({"Origin": "http://localhost:{port}"}, "foreign_origin"),
        ({"Origin": None}, "foreign_origin"),
        ({"Sec-Fetch-Site": "cross-site"}, "foreign_origin"),
        ({"Sec-Fetch-Site": "same-site"}, "foreign_origin"),
        ({"X-Leasehold-Console": None}, "locked"),
        ({"X-Leasehold-Console": "guess"}, "locked"),
        ({"Content-Type": "text/plain"}, "not_json"),
        ({"Content-Type": None}, "not_json"),
    ],
)
def test_a_change_needs_our_origin_and_the_secret(
    door: Door, working: WorkingQueue, change: dict[str, str | None], code: str
):
    sent = {name: value and value.format(port=door.server.port) for name, value in change.items()}

    answer = door.knock("POST", HALT, {**door.keys(), **sent}, REASON)

    assert answer.status in {401, 403, 415}
    assert answer.code == code
    assert working.operator.switches().halt is None


@pytest.mark.parametrize("change", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_a_foreign_page_may_not_even_read(door: Door, change: dict[str, str]):
    answer = door.knock("GET", "/api/jobs", {**door.key(), **change})

    assert (answer.status, answer.code) == (403, "foreign_origin")
    assert not any(name.lower().startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused_before_anything_is_looked_up(door: Door, method: str):
    answer = door.knock(method, "/api/nowhere", door.keys())

    assert (answer.status, answer.code) == (405, "method_not_allowed")


@pytest.mark.parametrize("path", ["/", "/js/main.js", "/session.json"])
def test_the_files_of_the_page_can_only_be_read(door: Door, path: str):
    assert door.knock("POST", path, door.keys(), "{}").status == 405


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/js/../../security.py",
        "/%2e%2e/server.py",
        "/js/%2e%2e%2f%2e%2e%2fserver.py",
        "//etc/passwd",
        "/static/../../console.py",
        "/js/",
        "/index.html%00.js",
        "/js\\..\\..\\server.py",
        "http://evil.example/",
    ],
)
def test_no_path_leads_out_of_the_page_s_files(door: Door, path: str):
    assert door.knock("GET", path, door.key()).status == 404


@pytest.mark.parametrize(
    "headers", [{"Content-Length": "9999999999"}, {"Content-Length": "-1"}, {"Transfer-Encoding": "chunked"}]
)
def test_a_body_too_large_or_of_no_known_length_is_refused_unread(door: Door, headers: dict[str, str]):
    answer = door.knock("POST", HALT, {**door.keys(), **headers})

    assert (answer.status, answer.code) == (413, "too_large")
    assert answer.headers["Connection"] == "close"


@pytest.mark.parametrize("path", ["/", "/js/main.js", "/api/jobs", "/api/nothing", "/session.json", "/nowhere"])
@pytest.mark.parametrize("is_known", [True, False])
def test_every_answer_forbids_frames_sniffing_caching_and_foreign_scripts(door: Door, path: str, is_known: bool):
    answer = door.knock("GET", path, door.key() if is_known else {})

    policy = dict(each.strip().partition(" ")[::2] for each in answer.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "python" not in answer.headers["Server"].lower()


def test_the_page_is_made_of_its_own_files_only(door: Door):
    page = door.knock("GET", "/").body

    assert "<style" not in page
    assert "style=" not in page
    assert "onclick=" not in page
    assert "//" not in page.replace("<!doctype html>", "")
    for path in scripts_and_styles(page):
        assert door.knock("GET", path).status == 200


def test_errors_of_the_api_come_as_problems_with_a_code(door: Door):
    answer = door.knock("GET", "/api/jobs/nonsense", door.key())

    assert (answer.status, answer.code) == (400, "invalid_job_id")
    assert answer.headers["Content-Type"] == "application/problem+json"
