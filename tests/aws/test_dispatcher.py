"""Hand-overs go to Lambda functions, asynchronously, and every failure has one name."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.response import StreamingBody
from botocore.stub import Stubber

from leasehold.aws.dispatcher import LambdaDispatcher
from leasehold.aws.handovers import handover_event, handover_of
from leasehold.kernel.errors import DispatchError, InvalidInputError
from leasehold.kernel.keys import Due, JobPartition, make_job_id, position_at
from leasehold.kernel.ports import Handover

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_lambda import LambdaClient

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
JOB_ID = make_job_id(NOW, JobPartition(1), 7)
HANDOVER = Handover(job_id=JOB_ID, job_type="user_sync", token="poller.1", lease=Due(NOW, position_at(NOW), JOB_ID))
FUNCTION = "leasehold-user_sync"


@pytest.fixture
def stub() -> Iterator[Stubber]:
    client = boto3.client("lambda", region_name="us-east-1")
    with Stubber(client) as stubber:
        yield stubber
    client.close()


def answer(status: int) -> dict[str, object]:
    return {"StatusCode": status, "Payload": StreamingBody(io.BytesIO(b""), 0)}


def dispatcher(stub: Stubber) -> LambdaDispatcher:
    return LambdaDispatcher(cast("LambdaClient", stub.client))


def test_a_hand_over_is_an_event_that_carries_no_payload(stub):
    event = json.dumps(handover_event(HANDOVER)).encode()
    stub.add_response("invoke", answer(202), {"FunctionName": FUNCTION, "InvocationType": "Event", "Payload": event})

    dispatcher(stub).dispatch(HANDOVER, FUNCTION)

    stub.assert_no_pending_responses()
    assert set(json.loads(event)) == {"job_id", "job_type", "token", "lease"}


def test_the_event_gives_back_the_hand_over():
    assert handover_of(json.loads(json.dumps(handover_event(HANDOVER)))) == HANDOVER


@pytest.mark.parametrize(
    "event",
    [
        {},
        {**handover_event(HANDOVER), "job_id": "x"},
        {**handover_event(HANDOVER), "job_type": "No Type"},
        {**handover_event(HANDOVER), "lease": "soon"},
        {"Records": []},
    ],
)
def test_an_event_of_somebody_else_is_refused(event):
    with pytest.raises(InvalidInputError, match=r"not a hand-over from the poller.* See events/"):
        handover_of(event)


@pytest.mark.parametrize("code", ["TooManyRequestsException", "ResourceNotFoundException", "ServiceException"])
def test_a_refused_invoke_is_a_dispatch_error_that_names_the_function(stub, code):
    stub.add_client_error("invoke", code, "no", 429)

    with pytest.raises(DispatchError, match=rf"function '{FUNCTION}' was not reached: .*{code}"):
        dispatcher(stub).dispatch(HANDOVER, FUNCTION)


def test_a_network_failure_is_a_dispatch_error_too(stub, monkeypatch):
    def unreachable(**_request: object) -> None:
        raise EndpointConnectionError(endpoint_url="https://lambda")

    monkeypatch.setattr(stub.client, "invoke", unreachable)

    with pytest.raises(DispatchError, match="was not reached: Could not connect"):
        dispatcher(stub).dispatch(HANDOVER, FUNCTION)


def test_an_answer_other_than_accepted_is_a_dispatch_error(stub):
    stub.add_response("invoke", answer(200))

    with pytest.raises(DispatchError, match="answered 200 instead of 202"):
        dispatcher(stub).dispatch(HANDOVER, FUNCTION)


def test_a_type_without_a_function_is_a_dispatch_error_without_a_call(stub):
    with pytest.raises(DispatchError, match="names no function for job type 'user_sync'; deploy again"):
        dispatcher(stub).dispatch(HANDOVER, None)
