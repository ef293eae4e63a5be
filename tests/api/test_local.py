"""The API in this process: without a gateway, in the name of whoever asks."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api.local import LocalApi
from tests.api.world import in_memory

if TYPE_CHECKING:
    from leasehold.testing import LeaseholdTest


@pytest.fixture
def test() -> LeaseholdTest:
    return in_memory()


@pytest.fixture
def api(test: LeaseholdTest) -> LocalApi:
    return LocalApi(test.services)


def send(api: LocalApi, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
    headers = {} if body is None else {"content-type": "application/json"}
    answer = api.answer(method, path, headers=headers, body=b"" if body is None else json.dumps(body).encode())
    return answer.status, json.loads(answer.body)


def test_it_acts_as_whoever_started_it_with_every_right(api: LocalApi, test: LeaseholdTest) -> None:
    status, made = send(api, "POST", "/api/jobs", {"job_type": "report", "reason": "a test"})
    purged, _ = send(api, "POST", f"/api/jobs/{made['job_id']}/purge", {"reason": "a test"})

    assert (status, test.queue.get(made["job_id"]).created_by) == (201, "test")
    assert purged == 409  # it has not ended


def test_requests_at_the_same_time_get_their_own_answers(api: LocalApi) -> None:
    paths = ["/api/control", "/api/counts", "/api/jobs", "/api/backlog"] * 5

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda path: send(api, "GET", path)[1], paths))

    marks = {"/api/control": "shards", "/api/counts": "statuses", "/api/jobs": "items", "/api/backlog": "types"}
    assert all(marks[path] in answer for path, answer in zip(paths, answers, strict=True))


def test_a_direct_run_goes_on_beside_the_requests(api: LocalApi) -> None:
    body = {"job_type": "errand", "payload": {"do": "it"}, "reason": "a test", "timeout": 5}
    _, asked = send(api, "POST", "/api/direct-runs", body)

    deadline = time.monotonic() + 10
    shown: dict[str, Any] = asked
    while shown["state"] in {"accepted", "running"} and time.monotonic() < deadline:
        _, shown = send(api, "GET", f"/api/direct-runs/{asked['run_id']}")

    assert (shown["state"], shown["result"]) == ("completed", {"done": "it"})
