from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import trace_context
from leasehold.functions.poller import lambda_handler as poll
from leasehold.kernel.errors import InvalidInputError
from leasehold.kernel.transitions import JobStatus
from leasehold.runtime.entry import lambda_handler
from leasehold.runtime.handler import InvalidJobPayloadError
from tests.functions.conftest import FakeContext

if TYPE_CHECKING:
    from leasehold import Queue
    from tests.functions.conftest import FakeLambda

pytestmark = pytest.mark.dynoxide


def handed_over(queue: Queue, aws_lambda: FakeLambda, payload: dict[str, Any]) -> dict[str, Any]:
    """The event of a fresh job, as the poller sends it."""
    queue.enqueue("daily_summary", payload)
    poll({}, FakeContext())
    return aws_lambda.invoked.pop()[1]


def test_the_same_event_delivered_twice_runs_once(queue: Queue, aws_lambda: FakeLambda) -> None:
    event = handed_over(queue, aws_lambda, {"user_id": "u1"})

    first = lambda_handler(event, FakeContext())
    second = lambda_handler(event, FakeContext())

    assert (first["execution"], second["execution"]) == ("completed", "not_started")
    assert len(queue.get(event["job_id"]).runs) == 1


def test_a_payload_that_does_not_fit_the_model_is_dead_lettered_at_once(queue: Queue, aws_lambda: FakeLambda) -> None:
    event = handed_over(queue, aws_lambda, {"user": "u1"})

    assert lambda_handler(event, FakeContext())["execution"] == "dead_letter"
    job = queue.get(event["job_id"])
    assert (job.status, job.last_error_code) == (JobStatus.DEAD_LETTER, InvalidJobPayloadError.code)


def test_a_run_names_the_invocation_that_made_it(queue: Queue, aws_lambda: FakeLambda) -> None:
    event = handed_over(queue, aws_lambda, {"user_id": "u1"})
    context = FakeContext()

    lambda_handler(event, context)

    (run,) = queue.get(event["job_id"]).runs
    assert run.worker.startswith(f"{context.aws_request_id[:8]}.")


def test_what_the_handler_logs_is_json_with_the_job_and_its_trace(
    queue: Queue, aws_lambda: FakeLambda, capsys: pytest.CaptureFixture[str]
) -> None:
    with trace_context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"):
        event = handed_over(queue, aws_lambda, {"user_id": "u1"})
    capsys.readouterr()

    lambda_handler(event, FakeContext())

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (logged,) = [line for line in lines if line.get("message") == "summing up"]
    assert logged["job_id"] == event["job_id"]
    assert logged["user_id"] == "u1"
    assert logged["trace"].startswith("00-4bf92f35")


def test_an_event_that_is_no_hand_over_is_refused_before_anything_is_read(cold_start: None) -> None:
    with pytest.raises(InvalidInputError, match="not a hand-over"):
        lambda_handler({"hello": "world"}, FakeContext())
