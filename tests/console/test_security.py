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
    assert console._server.server_address[0] == "127.0.0.1"
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


@pytest.mark.parametrize("path", ["/", "/js/main.js", "/css/theme.css", "/session.json", "/api/jobs", "/nowhere"])
@pytest.mark.parametrize(
    "cookie", [None, "leasehold-console-{port}=guess", "other=1", "leasehold-console-{port}=", "\xff"]
)
def test_without_the_session_nothing_is_told(door: Door, path: str, cookie: str | None):
    sent = None if cookie is None else cookie.format(port=door.server.port)

    answer = door.knock("GET", path, {"Cookie": sent})

    assert answer.status == 401
    assert "csrf" not in answer.body


@pytest.mark.parametrize("query", ["", "?token=", "?token=guess", "?token={token}x", "?other={token}"])
def test_a_wrong_token_gives_no_session(door: Door, query: str):
    token = door.server.url.partition("token=")[2]

    answer = door.knock("GET", "/" + query.format(token=token))

    assert answer.status == 401
    assert "Set-Cookie" not in answer.headers


def test_the_token_gives_a_cookie_that_scripts_cannot_read_and_other_sites_do_not_send(door: Door):
    answer = door.knock("GET", door.server.url.removeprefix(door.server.address))

    name, *attributes = answer.headers["Set-Cookie"].split("; ")
    assert name.startswith(f"leasehold-console-{door.server.port}=")
    assert set(attributes) == {"Path=/", "HttpOnly", "SameSite=Strict"}
    assert door.server.url.partition("token=")[2] not in answer.headers["Set-Cookie"]


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
        ({"X-Leasehold-Console": None}, "csrf_token_missing"),
        ({"X-Leasehold-Console": "guess"}, "csrf_token_missing"),
        ({"Content-Type": "text/plain"}, "not_json"),
        ({"Content-Type": None}, "not_json"),
    ],
)
def test_a_change_needs_our_origin_and_the_secret_of_our_page(
    door: Door, working: WorkingQueue, change: dict[str, str | None], code: str
):
    sent = {name: value and value.format(port=door.server.port) for name, value in change.items()}

    answer = door.knock("POST", HALT, {**door.keys(), **sent}, REASON)

    assert answer.status in {403, 415}
    assert answer.code == code
    assert working.operator.switches().halt is None


@pytest.mark.parametrize("change", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_a_foreign_page_may_not_even_read(door: Door, change: dict[str, str]):
    answer = door.knock("GET", "/api/jobs", {"Cookie": door.cookie(), **change})

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
    assert door.knock("GET", path, {"Cookie": door.cookie()}).status == 404


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
    answer = door.knock("GET", path, {"Cookie": door.cookie() if is_known else None})

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
    cookie = {"Cookie": door.cookie()}
    page = door.knock("GET", "/", cookie).body

    assert "<style" not in page
    assert "style=" not in page
    assert "onclick=" not in page
    assert "//" not in page.replace("<!doctype html>", "")
    for path in scripts_and_styles(page):
        assert door.knock("GET", path, cookie).status == 200


def test_errors_of_the_api_come_as_problems_with_a_code(door: Door):
    answer = door.knock("GET", "/api/jobs/nonsense", {"Cookie": door.cookie()})

    assert (answer.status, answer.code) == (400, "invalid_job_id")
    assert answer.headers["Content-Type"] == "application/problem+json"
