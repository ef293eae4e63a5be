"""Direct runs go to Lambda functions, synchronously and once, and what came of them is known or said to be unknown."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import boto3
import pytest
from botocore.exceptions import (
    BotoCoreError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.response import StreamingBody
from botocore.stub import Stubber

from leasehold.aws.caller import LambdaCaller, connect_patiently
from leasehold.direct_runs.model import DirectAnswer, DirectRun, DirectRunLostError
from leasehold.kernel.errors import DispatchError
from leasehold.kernel.job_type import JobType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_lambda import LambdaClient

UNTIL = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
RUN = DirectRun(run_id="direct-1", job_type="user_sync", payload_text='{"n":1}', until=UNTIL, trace="t")
TYPE = JobType(name="user_sync", timeout=timedelta(seconds=30), function="leasehold-user_sync")
ENDPOINT = "https://lambda"


@pytest.fixture
def stub() -> Iterator[Stubber]:
    client = boto3.client("lambda", region_name="us-east-1")
    with Stubber(client) as stubber:
        yield stubber
    client.close()


def caller(stub: Stubber) -> LambdaCaller:
    return LambdaCaller(lambda _: cast("LambdaClient", stub.client))


def answer(document: object, **fields: str) -> dict[str, Any]:
    body = json.dumps(document).encode()
    return {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(body), len(body)), **fields}


def test_a_direct_run_is_an_invoke_that_is_waited_for_and_carries_its_payload(stub):
    event = json.dumps(RUN.to_event()).encode()
    wanted = {"FunctionName": TYPE.function, "InvocationType": "RequestResponse", "Payload": event}
    stub.add_response("invoke", answer({"result": '{"synced":3}'}), wanted)

    assert caller(stub).call(RUN, TYPE) == DirectAnswer(result_text='{"synced":3}')

    stub.assert_no_pending_responses()
    assert DirectRun.from_event(json.loads(event)) == RUN


@pytest.mark.parametrize(
    ("document", "fields", "code"),
    [
        ({"error": "no ink", "error_code": "RuntimeError"}, {}, "RuntimeError"),
        (
            {"errorMessage": "Task timed out after 30.00 seconds", "errorType": "Sandbox.Timedout"},
            {"FunctionError": "Unhandled"},
            "Sandbox.Timedout",
        ),
        (None, {"FunctionError": "Unhandled"}, "function_error"),
        ({"job_id": "x", "execution": "completed"}, {}, "invalid_answer"),
        ("yes", {}, "invalid_answer"),
    ],
    ids=["handler failed", "time was over", "crashed", "other answer", "no answer"],
)
def test_a_function_that_ended_otherwise_is_an_answer_with_an_error(stub, document, fields, code):
    stub.add_response("invoke", answer(document, **fields))

    got = caller(stub).call(RUN, TYPE)

    assert (got.error_code, got.result_text) == (code, None)
    assert got.error


@pytest.mark.parametrize(
    ("code", "status"), [("TooManyRequestsException", 429), ("ResourceNotFoundException", 404), ("AccessDenied", 403)]
)
def test_a_refused_invoke_did_not_begin(stub, code, status):
    stub.add_client_error("invoke", code, "no", status)

    with pytest.raises(DispatchError, match=rf"function 'leasehold-user_sync' was not reached: .*{code}"):
        caller(stub).call(RUN, TYPE)


def test_after_an_error_of_the_service_it_is_not_known_whether_it_ran(stub):
    stub.add_client_error("invoke", "ServiceException", "oops", 500)

    with pytest.raises(DirectRunLostError, match=r"direct-1 of 'user_sync'.* until 2026-11-15T09:30:00.000Z"):
        caller(stub).call(RUN, TYPE)


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (EndpointConnectionError(endpoint_url=ENDPOINT), DispatchError),
        (ConnectTimeoutError(endpoint_url=ENDPOINT), DispatchError),
        (NoCredentialsError(), DispatchError),
        (ReadTimeoutError(endpoint_url=ENDPOINT), DirectRunLostError),
        (ConnectionClosedError(endpoint_url=ENDPOINT), DirectRunLostError),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, BotoCoreError) else None,
)
def test_what_fails_before_the_request_is_sent_did_not_begin_and_what_fails_after_it_may_have(
    stub, monkeypatch, failure, error
):
    def fail(**_request: object) -> None:
        raise failure

    monkeypatch.setattr(stub.client, "invoke", fail)

    with pytest.raises(error):
        caller(stub).call(RUN, TYPE)


def test_a_type_without_a_function_is_an_error_without_a_call(stub):
    with pytest.raises(DispatchError, match="names no function for job type 'user_sync'; deploy again"):
        caller(stub).call(RUN, JobType(name="user_sync"))


def test_it_waits_longer_than_the_function_can_take_and_asks_once(stub):
    patience: list[timedelta] = []

    def connect(wanted: timedelta) -> LambdaClient:
        patience.append(wanted)
        return cast("LambdaClient", stub.client)

    made = LambdaCaller(connect)
    for _ in range(2):
        stub.add_response("invoke", answer({"result": None}))
        assert made.call(RUN, TYPE) == DirectAnswer()

    # One client for both, that gives a container its time to start.
    assert patience == [timedelta(seconds=45)]
    client = connect_patiently(patience[0], region_name="us-east-1")
    config: Any = client.meta.config
    assert (config.read_timeout, config.retries) == (45, {"mode": "standard", "total_max_attempts": 1})
    client.close()
