"""Idempotency keys: the same request twice makes one thing, whatever crashed in between."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.features import Store
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.services import Services
from leasehold.testing import FakeClock, SeededRandomSource
from tests.api.world import ADMIN, OPERATOR, TYPES, Answered, Api, furnished, in_memory
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.job import Job
    from leasehold.testing import LeaseholdTest

JOB = {"job_type": "report", "payload": {"n": 1}, "reason": "a test"}


@pytest.fixture
def test() -> LeaseholdTest:
    return in_memory()


@pytest.fixture(params=["memory", pytest.param("dynoxide", marks=pytest.mark.dynoxide)])
def services(request: pytest.FixtureRequest) -> Services:
    """On the store in memory, and on a real engine."""
    if request.param == "memory":
        return in_memory().services
    make: Callable[[str], DynamoDBClient] = request.getfixturevalue("make_client")
    return RealQueue(make(request.getfixturevalue("dynoxide_endpoint")), [*TYPES, JobType(name="other")]).services


def jobs_of(api: Api) -> list[dict[str, Any]]:
    return list(api.send("GET /api/jobs").body["items"])


def test_the_same_key_makes_one_job_and_gives_the_same_answer(services: Services) -> None:
    api = Api(services)

    first, second = (api.send("POST /api/jobs", JOB, key="k") for _ in range(2))

    assert (first.status, first.body["created"]) == (201, True)
    assert (second.status, second.body) == (first.status, first.body)
    assert len(jobs_of(api)) == 1
    records = api.send("GET /api/audit").body["items"]
    assert [each["action"] for each in records] == ["create"]


def test_the_same_request_spelt_otherwise_is_the_same_request(services: Services) -> None:
    api = Api(services)
    spelt = [b'{"job_type":"report","reason":"r"}', b'{ "reason": "r", "job_type": "rep\\u006frt" }']

    answers = [api.send("POST /api/jobs", raw=each, key="k") for each in spelt]

    assert answers[0].body == answers[1].body


def test_another_request_under_the_same_key_is_refused(services: Services) -> None:
    api = Api(services)
    api.send("POST /api/jobs", JOB, key="k")

    answer = api.send("POST /api/jobs", {**JOB, "payload": {"n": 2}}, key="k")

    assert (answer.status, answer.code) == (422, "idempotency_key_reused")
    assert len(jobs_of(api)) == 1


def test_a_key_belongs_to_its_caller_and_its_route(services: Services) -> None:
    api = Api(services)

    made = {
        api.send("POST /api/jobs", JOB, key="k", by=ADMIN).body["job_id"],
        api.send("POST /api/jobs", JOB, key="k", by=OPERATOR).body["job_id"],
    }
    group = api.send("POST /api/groups", {"jobs": [{"job_type": "report"}], "reason": "r"}, key="k")

    assert len(made) == 2
    assert group.status == 201


def test_after_a_day_a_key_is_a_new_one() -> None:
    test = in_memory()
    api = Api(test.services)
    first = api.send("POST /api/jobs", JOB, key="k").body["job_id"]

    test.clock.advance(timedelta(hours=24))

    assert api.send("POST /api/jobs", JOB, key="k").body["job_id"] != first


def test_a_job_of_now_keeps_its_time_when_it_is_asked_for_again_later(test: LeaseholdTest) -> None:
    """Its id carries its time: a try that broke off after the key was kept must not make a second id."""
    api = Api(test.services)
    first = api.send("POST /api/jobs", JOB, key="k").body["job_id"]
    test.clock.advance(timedelta(hours=1))

    assert api.send("POST /api/jobs", JOB, key="k").body["job_id"] == first
    assert [job.job_id for job in test.jobs()] == [first]


@pytest.mark.parametrize("broken", ["before", "after"])
def test_a_try_that_broke_off_is_gone_on_with(
    broken: str, test: LeaseholdTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies before the job is written, or after it, before the answer is kept."""
    api = Api(test.services)
    with monkeypatch.context() as patch:
        store = test.services.store
        patch.setattr(*((store.audits, "commit") if broken == "before" else (store.requests, "answer")), _died)  # type: ignore[call-overload]
        assert api.send("POST /api/jobs", JOB, key="k").status == 500
    test.clock.advance(timedelta(minutes=5))

    answer = api.send("POST /api/jobs", JOB, key="k")

    assert (answer.status, answer.body["created"]) == (201, True)
    assert [job.job_id for job in test.jobs()] == [answer.body["job_id"]]
    assert len(api.send("GET /api/audit").body["items"]) == 1


def test_two_at_the_same_time_make_one_job(test: LeaseholdTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second comes while the first is between the key's record and the job."""
    api, other = Api(test.services), Api(_same_table(test))
    commit = test.services.store.audits.commit
    answers: list[Answered] = []

    def late(*args: Any, **options: Any) -> bool:
        if not answers:
            answers.append(other.send("POST /api/jobs", JOB, key="k"))
        return commit(*args, **options)

    monkeypatch.setattr(test.services.store.audits, "commit", late)
    answers.append(api.send("POST /api/jobs", JOB, key="k"))

    assert [each.status for each in answers] == [201, 201]
    assert answers[0].body == answers[1].body
    assert len(test.jobs()) == 1


def test_an_answer_that_made_nothing_is_kept_too(test: LeaseholdTest) -> None:
    api = Api(test.services)
    body = {"job_type": "errand", "dedup_key": "ada", "reason": "r"}
    first = api.send("POST /api/jobs", body).body["job_id"]
    found = api.send("POST /api/jobs", body, key="k")
    test.drain()

    again = api.send("POST /api/jobs", body, key="k")

    assert (found.status, found.body) == (200, {"job_id": first, "created": False})
    assert again.body == found.body
    assert len(test.jobs()) == 1


def test_a_retry_under_a_key_makes_one_successor(test: LeaseholdTest) -> None:
    things, api = furnished(test), Api(test.services)
    route = f"POST /api/jobs/{things.completed}/retry"

    answers = [api.send(route, {"reason": "again", "priority": 0}, key="k") for _ in range(2)]

    assert answers[0].body == answers[1].body
    assert _successors(test, things.completed) == [answers[0].body["job_id"]]
    assert test.queue.get(answers[0].body["job_id"]).priority == 0


def test_a_retry_of_a_run_that_broke_off_is_gone_on_with(test: LeaseholdTest, monkeypatch: pytest.MonkeyPatch) -> None:
    things, api = furnished(test), Api(test.services)
    route = f"POST /api/job-runs/{things.dead}.1/retry"
    with monkeypatch.context() as patch:
        patch.setattr(test.services.store.requests, "answer", _died)
        assert api.send(route, {"reason": "again"}, key="k").status == 500

    answer = api.send(route, {"reason": "again"}, key="k")

    assert _successors(test, things.dead) == [answer.body["job_id"]]


def test_redrives_under_a_key_are_answered_alike(test: LeaseholdTest) -> None:
    things, api = furnished(test), Api(test.services)
    many, one = "POST /api/dead-letters/redrive", f"POST /api/dead-letters/{things.dead}/redrive"

    answers = [api.send(many, {"reason": "fixed"}, key="k").body for _ in range(2)]
    alone = [api.send(one, {"reason": "fixed"}, key="k").body for _ in range(2)]

    assert answers[0] == answers[1]
    assert alone[0] == alone[1] == answers[0]["results"][0]
    assert len(_successors(test, things.dead)) == 1


def test_a_group_under_a_key_is_made_once(test: LeaseholdTest, monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api(test.services)
    body = {"jobs": [{"job_type": "report"}] * 3, "mode": "parallel", "reason": "r"}
    with monkeypatch.context() as patch:
        patch.setattr(test.services.store.requests, "answer", _died)
        assert api.send("POST /api/groups", body, key="k").status == 500

    answers = [api.send("POST /api/groups", body, key="k") for _ in range(2)]

    assert [each.status for each in answers] == [201, 201]
    assert answers[0].body == answers[1].body
    assert len(test.jobs()) == 3


@pytest.mark.parametrize("key", ["", "two words", "x" * 256, "ümlaut", "tab\t"])
def test_a_key_that_cannot_be_one_is_refused(key: str, test: LeaseholdTest) -> None:
    answer = Api(test.services).send("POST /api/jobs", JOB, key=key)

    assert (answer.status, answer.code) == (400, "invalid_idempotency_key")
    assert test.jobs() == []


def _died(*_args: object, **_options: object) -> None:
    raise RuntimeError("the process is gone")


def _same_table(test: LeaseholdTest) -> Services:
    """Another process on the same table."""
    return Services(
        store=Store(test.services.store.table), clock=FakeClock(test.clock.now()), random_source=SeededRandomSource(7)
    )


def _successors(test: LeaseholdTest, job_id: str) -> list[str]:
    return [job.job_id for job in test.jobs() if _is_successor(job, job_id)]


def _is_successor(job: Job, job_id: str) -> bool:
    return job.retry_of == job_id


def test_a_store_that_does_not_answer_is_no_answer(test: LeaseholdTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be tried again under the same key: nothing was kept that would stand in the way."""
    api = Api(test.services)

    def unavailable(*_args: object, **_options: object) -> bool:
        raise StoreUnavailableError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(test.services.store.audits, "commit", unavailable)
        answer = api.send("POST /api/jobs", JOB, key="k")
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "store_unavailable", "5")

    assert api.send("POST /api/jobs", JOB, key="k").status == 201
    assert len(test.jobs()) == 1
