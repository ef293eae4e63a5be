"""Direct runs over HTTP: waited for where that is short, looked at later where it is not, done once in any case."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.direct_runs.next_slot import NOTICED_AFTER
from leasehold.direct_runs.run import perform
from tests.api.world import OPERATOR, Api, in_memory

if TYPE_CHECKING:
    from leasehold.direct_runs.model import DirectAnswer, DirectRun
    from leasehold.kernel.job_type import JobType
    from leasehold.testing import LeaseholdTest

ERRAND = {"job_type": "errand", "payload": {"do": "it"}, "reason": "a test", "timeout": 5}


@pytest.fixture
def test() -> LeaseholdTest:
    return in_memory()


def test_a_short_one_is_answered_with_its_result(test: LeaseholdTest) -> None:
    api = Api(test.services)

    answer = api.send("POST /api/direct-runs", ERRAND, by=OPERATOR)

    assert (answer.status, answer.body["state"], answer.body["result"]) == (200, "completed", {"done": "it"})
    assert answer.body["by"] == OPERATOR
    assert test.jobs() == []
    assert api.send(f"GET /api/direct-runs/{answer.body['run_id']}").body == answer.body


def test_one_that_fails_says_how(test: LeaseholdTest) -> None:
    answer = Api(test.services).send("POST /api/direct-runs", {**ERRAND, "payload": {"do": "fail"}})

    assert (answer.status, answer.body["state"], answer.body["error_code"]) == (200, "failed", "non_retryable")
    assert "not this time" in answer.body["error"]


def test_one_that_takes_longer_is_accepted_and_looked_at_later(test: LeaseholdTest) -> None:
    api = Api(test.services)
    api.starter.at_once = False
    asked_at = test.clock.now()

    answer = api.send("POST /api/direct-runs", ERRAND)

    place = f"/api/direct-runs/{answer.body['run_id']}"
    assert (answer.status, answer.body["state"], answer.headers["Location"]) == (202, "accepted", place)
    assert test.clock.now() - asked_at == timedelta(seconds=25)
    perform(answer.body["run_id"], test.services, worker_id="runner")
    assert api.send(f"GET {place}").body["state"] == "completed"


def test_it_started_when_its_turn_had_come_and_not_when_its_waiting_began(test: LeaseholdTest) -> None:
    api = Api(test.services)
    asked_at = test.clock.now()

    # A type without a limit: its turn comes when every poller knows of it.
    answer = api.send("POST /api/direct-runs", {**ERRAND, "job_type": "report", "timeout": 20})

    assert datetime.fromisoformat(answer.body["started_at"]) - asked_at == NOTICED_AFTER


def test_it_leaves_one_audit_record_and_forgets_its_payload(test: LeaseholdTest) -> None:
    api = Api(test.services)

    run_id = api.send("POST /api/direct-runs", ERRAND, by=OPERATOR, key="k").body["run_id"]
    api.send("POST /api/direct-runs", ERRAND, by=OPERATOR, key="k")

    (audit_entry,) = api.send("GET /api/audit", query=f"target=direct-run%23{run_id}").body["items"]
    assert (audit_entry["by"], audit_entry["action"], audit_entry["reason"]) == (OPERATOR, "direct_run", "a test")
    kept = test.services.store.direct_requests.get(run_id)
    assert kept is not None
    assert kept.payload_text is None


def test_the_same_key_runs_it_once_and_finds_its_result(test: LeaseholdTest) -> None:
    api = Api(test.services)
    api.starter.at_once = False
    accepted = api.send("POST /api/direct-runs", ERRAND, key="k")
    api.starter.at_once = True

    answers = [api.send("POST /api/direct-runs", ERRAND, key="k") for _ in range(2)]

    assert [each.status for each in answers] == [200, 200]
    assert {each.body["run_id"] for each in (accepted, *answers)} == {accepted.body["run_id"]}
    assert api.send("POST /api/direct-runs", {**ERRAND, "timeout": 6}, key="k").code == "idempotency_key_reused"


def test_an_event_that_comes_twice_runs_it_once(test: LeaseholdTest) -> None:
    api = Api(test.services)
    calls: list[str] = []

    class Counting:
        def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
            calls.append(run.run_id)
            assert perform(run.run_id, test.services, worker_id="copy") is None
            return test.call(run, job_type)

    test.services.caller = Counting()
    run_id = api.send("POST /api/direct-runs", ERRAND).body["run_id"]

    assert perform(run_id, test.services, worker_id="late copy") is None
    assert calls == [run_id]


def test_one_that_nobody_begins_is_lost_and_is_not_begun_any_more(test: LeaseholdTest) -> None:
    api = Api(test.services)
    api.starter.at_once = False
    run_id = api.send("POST /api/direct-runs", ERRAND).body["run_id"]

    test.clock.advance(timedelta(seconds=66))

    assert api.send(f"GET /api/direct-runs/{run_id}").body["error_code"] == "direct_run_lost"
    assert perform(run_id, test.services, worker_id="late") is None
    assert api.send(f"GET /api/direct-runs/{run_id}").body["state"] == "lost"


def test_one_whose_runner_died_is_lost_once_it_is_over_for_certain(test: LeaseholdTest) -> None:
    api = Api(test.services)
    api.starter.at_once = False
    run_id = api.send("POST /api/direct-runs", ERRAND).body["run_id"]

    class Dead:
        def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
            raise KeyboardInterrupt

    test.services.caller = Dead()
    with pytest.raises(KeyboardInterrupt):
        perform(run_id, test.services, worker_id="dying")

    assert api.send(f"GET /api/direct-runs/{run_id}").body["state"] == "running"
    test.clock.advance(timedelta(minutes=3))
    assert api.send(f"GET /api/direct-runs/{run_id}").body["state"] == "lost"


def test_after_a_day_it_is_forgotten_and_its_key_is_a_new_one(test: LeaseholdTest) -> None:
    api = Api(test.services)
    first = api.send("POST /api/direct-runs", ERRAND, key="k").body
    test.clock.advance(timedelta(days=1))

    assert api.send(f"GET /api/direct-runs/{first['run_id']}").status == 404
    again = api.send("POST /api/direct-runs", ERRAND, key="k").body
    assert (again["state"], again["asked_at"] > first["asked_at"]) == ("completed", True)


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"job_type": "nothing"}, 422, "unknown_job_type"),
        ({"job_type": "report", "timeout": 1}, 400, "invalid_option"),
        ({"timeout": 840}, 400, "invalid_option"),
        ({"timeout": 841}, 400, "invalid_request"),
        ({"payload": "x" * 300_000}, 413, "payload_too_large"),
        ({"reason": "r" * 1025}, 400, "invalid_request"),
    ],
    ids=str,
)
def test_what_cannot_be_run_is_refused_before_anything_is_kept(
    change: dict[str, object], status: int, code: str, test: LeaseholdTest
) -> None:
    api = Api(test.services)

    answer = api.send("POST /api/direct-runs", {**ERRAND, **change}, key="k")

    assert (answer.status, answer.code) == (status, code)
    assert api.starter.run_ids == []
    assert api.send("GET /api/audit").body["items"] == []


def test_a_paused_type_is_not_run(test: LeaseholdTest) -> None:
    api = Api(test.services)
    api.send("POST /api/control/types/errand/pause", {"reason": "noise"})

    answer = api.send("POST /api/direct-runs", ERRAND)

    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (423, "job_type_paused", "60")
