"""Requests that cannot be read are refused with the reason, before anything is done."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api.requests import MAX_BODY_BYTES
from tests.api.world import ADMIN, Api, iam, in_memory

if TYPE_CHECKING:
    from leasehold.testing import LeaseholdTest

JOB = b'{"job_type": "report"}'


@pytest.fixture
def test() -> LeaseholdTest:
    return in_memory()


@pytest.fixture
def api(test: LeaseholdTest) -> Api:
    return Api(test.services)


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b"", None),
        (b"{", "body"),
        (b"null", "body"),
        (b"[]", "body"),
        (b'"text"', "body"),
        (b"\xff\xfe", "body"),
        (b'{"job_type": "\\ud800"}', "body"),
        (b"[" * 100_000, "body"),
        (b'{"job_type": "report", "created_by": "me"}', "body.created_by"),
        (b'{"job_type": "report", "priority": "1"}', "body.priority"),
        (b'{"job_type": "report", "priority": 1.5}', "body.priority"),
        (b'{"job_type": "report", "priority": 4}', "body.priority"),
        (b'{"job_type": "report", "priority": true}', "body.priority"),
        (b'{"job_type": "report", "run_in": -1}', "body.run_in"),
        (b'{"job_type": "report", "run_in": NaN}', "body.run_in"),
        (b'{"job_type": "report", "run_at": "2026-01-01T00:00:00"}', "body.run_at"),
        (b'{"job_type": "report", "run_at": 17}', "body.run_at"),
        (b'{"job_type": "report", "retry": {"kind": "never"}}', "body.retry"),
        (b'{"job_type": "report", "on_duplicate": "ignore"}', "body.on_duplicate"),
    ],
)
def test_a_body_that_is_not_what_is_taken_is_refused(
    raw: bytes, field: str | None, api: Api, test: LeaseholdTest
) -> None:
    answer = api.send("POST /api/jobs", raw=raw)

    assert answer.status == (400 if field else 415)
    assert test.jobs() == []
    if field:
        assert answer.code == "invalid_request"
        assert [each["field"] for each in answer.body["fields"]] == [field]


@pytest.mark.parametrize("payload", ["NaN", "Infinity", "1" * 5000, "[" * 80 + "]" * 80])
def test_a_payload_that_json_readers_would_not_take_is_refused(payload: str, api: Api) -> None:
    for key in (None, "k"):
        answer = api.send("POST /api/jobs", raw=f'{{"job_type": "report", "payload": {payload}}}'.encode(), key=key)

        assert (answer.status, answer.code) in {(422, "invalid_payload"), (400, "invalid_request")}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_body_of_another_kind_is_refused(kind: str, api: Api) -> None:
    answer = api.send("POST /api/jobs", raw=JOB, content_type=kind)

    assert (answer.status, answer.code) == (415, "unsupported_content_type")


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8"])
def test_json_may_say_so_in_its_own_way(kind: str, api: Api) -> None:
    assert api.send("POST /api/jobs", raw=JOB, content_type=kind).status == 201


def test_a_body_that_is_too_large_is_refused_by_its_size(api: Api) -> None:
    answer = api.send("POST /api/jobs", raw=b" " * (MAX_BODY_BYTES + 1))

    assert (answer.status, answer.code) == (413, "request_too_large")


def test_a_payload_that_is_too_large_is_refused_by_the_domain(api: Api) -> None:
    answer = api.send("POST /api/jobs", {"job_type": "report", "payload": "x" * 300_000})

    assert (answer.status, answer.code) == (413, "payload_too_large")


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("colour=red", ["query.colour"]),
        ("limit=0", ["query.limit"]),
        ("limit=101", ["query.limit"]),
        ("limit=ten", ["query.limit"]),
        ("limit=1&limit=2", ["query.limit"]),
        ("status=done", ["query.status.0"]),
        ("scheduled_from=yesterday", ["query.scheduled_from"]),
        ("scheduled_from=1700000000", ["query.scheduled_from"]),
        ("job_type=", ["query.job_type"]),
        ("job_type=%ff", ["query"]),
        ("&".join(["status=failed"] * 60), ["query"]),
    ],
)
def test_a_query_that_is_not_what_is_taken_is_refused(query: str, fields: list[str], api: Api) -> None:
    answer = api.send("GET /api/jobs", query=query)

    assert (answer.status, answer.code) == (400, "invalid_request")
    assert [each["field"] for each in answer.body["fields"]] == fields


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("cursor=nonsense", "invalid_cursor"),
        ("job_type=No-Type", "invalid_job_type"),
        ("dedup_key=a%23b", "invalid_key"),
        ("scheduled_from=2026-01-02T00:00:00Z&scheduled_to=2026-01-01T00:00:00Z", "invalid_option"),
    ],
)
def test_what_the_service_refuses_is_refused_with_its_code(query: str, code: str, api: Api) -> None:
    answer = api.send("GET /api/jobs", query=query)

    assert (answer.status, answer.code) == (400, code)


def test_a_query_or_body_where_none_is_taken_is_a_mistake(api: Api) -> None:
    assert api.send("GET /api/control", query="all=1").code == "invalid_request"
    assert api.send("GET /api/control", raw=b"{}").code == "invalid_request"


def test_another_method_is_told_which_there_are(api: Api) -> None:
    answer = api.send("PUT /api/jobs")

    assert (answer.status, answer.code, answer.headers["Allow"]) == (405, "method_not_allowed", "GET, POST")


def test_bodies_come_encoded_or_not(api: Api) -> None:
    def sent(**body: Any) -> int:
        context = {"http": {"method": "POST", "path": "/api/jobs"}, "authorizer": iam(ADMIN), "stage": "$default"}
        event = {"rawPath": "/api/jobs", "headers": {"Content-Type": "application/json"}, "requestContext": context}
        return int(api.application.answer({**event, **body})["statusCode"])

    assert sent(body=JOB.decode()) == 201
    assert sent(body=base64.b64encode(JOB).decode(), isBase64Encoded=True) == 201
    assert sent(body="not base64!", isBase64Encoded=True) == 400
    assert sent(body='{"job_type": "\ud800"}') == 400


def test_a_problem_says_what_programs_and_people_need(api: Api) -> None:
    answer = api.send("GET /api/jobs/nonsense")

    assert answer.headers["Content-Type"] == "application/problem+json"
    assert {name: answer.body[name] for name in ("type", "title", "status", "code")} == {
        "type": "urn:leasehold:problem:invalid_job_id",
        "title": "Bad Request",
        "status": 400,
        "code": "invalid_job_id",
    }
    assert "nonsense" in answer.body["detail"]


def test_a_fault_of_ours_says_nothing_of_itself(
    api: Api, test: LeaseholdTest, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret place")

    monkeypatch.setattr(test.services.store.jobs, "get", broken)
    answer = api.send("GET /api/jobs/019b76da-a800-8000-8297-4bcd6baa9455")

    assert (answer.status, answer.code) == (500, "internal_error")
    assert "secret" not in json.dumps(answer.body)
    assert "secret place" in caplog.text
