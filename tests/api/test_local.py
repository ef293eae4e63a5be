"""The API on this machine: a real server on a loopback port, in the name of whoever started it."""

from __future__ import annotations

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api.local import LocalServer
from tests.api.world import in_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.testing import LeaseholdTest


@pytest.fixture
def test() -> LeaseholdTest:
    return in_memory()


@pytest.fixture
def server(test: LeaseholdTest) -> Iterator[LocalServer]:
    with LocalServer(test.services) as server:
        yield server


def send(server: LocalServer, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
    connection = http.client.HTTPConnection(server.address.removeprefix("http://"), timeout=10)
    try:
        headers = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_it_acts_as_whoever_started_it_with_every_right(server: LocalServer, test: LeaseholdTest) -> None:
    status, made = send(server, "POST", "/api/jobs", {"job_type": "report", "reason": "a test"})
    purged, _ = send(server, "POST", f"/api/jobs/{made['job_id']}/purge", {"reason": "a test"})

    assert (status, test.queue.get(made["job_id"]).created_by) == (201, "test")
    assert purged == 409  # it has not ended


def test_it_listens_on_the_loopback_interface_only(server: LocalServer) -> None:
    assert server.address.startswith("http://127.0.0.1:")


def test_requests_at_the_same_time_get_their_own_answers(server: LocalServer) -> None:
    paths = ["/api/control", "/api/counts", "/api/jobs", "/api/backlog"] * 5

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda path: send(server, "GET", path)[1], paths))

    marks = {"/api/control": "shards", "/api/counts": "statuses", "/api/jobs": "items", "/api/backlog": "types"}
    assert all(marks[path] in answer for path, answer in zip(paths, answers, strict=True))


def test_a_direct_run_goes_on_beside_the_requests(server: LocalServer) -> None:
    body = {"job_type": "errand", "payload": {"do": "it"}, "reason": "a test", "timeout": 5}
    _, asked = send(server, "POST", "/api/direct-runs", body)

    deadline = time.monotonic() + 10
    shown: dict[str, Any] = asked
    while shown["state"] in {"accepted", "running"} and time.monotonic() < deadline:
        _, shown = send(server, "GET", f"/api/direct-runs/{asked['run_id']}")

    assert (shown["state"], shown["result"]) == ("completed", {"done": "it"})


def test_a_request_that_is_too_large_is_not_read(server: LocalServer) -> None:
    connection = http.client.HTTPConnection(server.address.removeprefix("http://"), timeout=10)
    connection.putrequest("POST", "/api/jobs")
    connection.putheader("Content-Length", str(10**9))
    connection.endheaders()

    assert connection.getresponse().status == 413
    connection.close()
