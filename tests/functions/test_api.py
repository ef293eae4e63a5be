"""The API's function and the direct runner, as Lambda would run them, on a real DynamoDB engine."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.aws import dispatcher
from leasehold.aws import names as variables
from leasehold.aws.api_access import Access
from leasehold.aws.dispatcher import RUN_ID
from leasehold.direct_runs.model import DirectAnswer
from leasehold.functions import api
from leasehold.functions import direct_runner as runner
from leasehold.kernel.errors import InvalidOptionError
from tests.functions.conftest import FakeContext, FakeLambda

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold import JobType, Queue
    from leasehold.direct_runs.model import DirectRun

pytestmark = pytest.mark.dynoxide

EVENTS = Path(__file__).parent.parent.parent / "events"
REQUEST = json.loads((EVENTS / "api_request.json").read_text())
OPERATORS = Access(roles={"operator": ("arn:aws:iam::000000000000:user/operator*",)})


class Answering:
    """The handler of any type, which the runner's own Lambda client would reach."""

    def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
        return DirectAnswer(result_text='{"ran":true}')


@pytest.fixture
def lambdas(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLambda]:
    """The Lambda service, by which the API starts the runner."""
    fake = FakeLambda()
    monkeypatch.setenv(variables.API_ACCESS, OPERATORS.to_text())
    monkeypatch.setenv(variables.DIRECT_RUNNER, "leasehold-test-direct-runner")
    monkeypatch.setattr(dispatcher, "connect_lambda", lambda: fake)
    for cached in (api._container, api._application, runner._container):
        cached.cache_clear()
    yield fake
    for cached in (api._container, api._application, runner._container):
        cached.cache_clear()


def sent(route: str, body: object) -> tuple[int, dict[str, Any]]:
    event = deepcopy(REQUEST)
    method, _, path = route.partition(" ")
    event["rawPath"] = event["requestContext"]["http"]["path"] = path
    event["requestContext"]["http"]["method"] = method
    event["body"] = json.dumps(body) if body is not None else None
    answer = api.lambda_handler(event, FakeContext(function_name="leasehold-test-api"))
    return answer["statusCode"], json.loads(answer["body"])


def test_the_sample_request_makes_one_job_in_the_callers_name(queue: Queue, lambdas: FakeLambda) -> None:
    answers = [api.lambda_handler(deepcopy(REQUEST), FakeContext()) for _ in range(2)]

    assert [each["statusCode"] for each in answers] == [201, 201]
    assert answers[0]["body"] == answers[1]["body"]
    job = queue.get(json.loads(answers[0]["body"])["job_id"])
    assert job.created_by == "arn:aws:iam::000000000000:user/operator-ada"


def test_a_direct_run_is_handed_to_the_runner_and_found_again(queue: Queue, lambdas: FakeLambda) -> None:
    api._application().patience *= 0
    status, asked = sent("POST /api/direct-runs", {"job_type": "daily_summary", "timeout": 7, "reason": "a test"})
    ((function, event),) = lambdas.invoked
    assert (status, function, event) == (202, "leasehold-test-direct-runner", {RUN_ID: asked["run_id"]})

    services = runner._container().services
    services.caller = Answering()
    with pytest.MonkeyPatch.context() as patch:
        # Its turn comes when every poller knows of it: that is waited for elsewhere.
        patch.setattr("leasehold.direct_runs.next_slot.NOTICED_AFTER", timedelta(0))
        done = runner.lambda_handler(event, FakeContext())
    again = runner.lambda_handler(event, FakeContext())

    assert (done["state"], again["state"]) == ("completed", "not ours")
    assert sent(f"GET /api/direct-runs/{asked['run_id']}", None)[1]["result"] == {"ran": True}


def test_the_sample_of_the_runner_names_a_run() -> None:
    assert list(json.loads((EVENTS / "direct_runner.json").read_text())) == [RUN_ID]


def test_a_run_that_nobody_asked_for_is_nobodys(queue: Queue, lambdas: FakeLambda) -> None:
    assert runner.lambda_handler({RUN_ID: "direct-0"}, FakeContext())["state"] == "not ours"


@pytest.mark.parametrize("name", [variables.API_ACCESS, variables.DIRECT_RUNNER])
def test_a_setting_that_is_missing_is_named(name: str, lambdas: FakeLambda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name)

    with pytest.raises(InvalidOptionError, match=name):
        api._application()
