"""A handler's function that is called directly: the event is recognised, and the answer says how the run went."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from app import ROOT
from leasehold.direct_runs.model import DirectRun
from leasehold.kernel.errors import InvalidInputError
from leasehold.runtime.entry import lambda_handler
from tests.functions.conftest import FakeContext

if TYPE_CHECKING:
    from leasehold import Queue

pytestmark = pytest.mark.dynoxide


def event(payload: object, *, until: datetime | None = None) -> dict[str, str]:
    """What `run_now` sends."""
    return DirectRun(
        run_id="direct-1",
        job_type="daily_summary",
        payload_text=json.dumps(payload),
        until=until or datetime.now(UTC) + timedelta(minutes=5),
        trace="00-4bf9",
    ).to_event()


def test_a_direct_run_is_answered_with_its_result_and_logged(
    queue: Queue, cold_start: None, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = lambda_handler(event({"user_id": "u1"}), FakeContext())

    assert json.loads(answer["result"] or "") == {"user_id": "u1", "summary": "The day went well."}
    lines: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = {line["event"]: line for line in lines if "event" in line}
    assert {"direct_run_started", "direct_run_ended"} <= told.keys()
    assert told["direct_run_ended"]["run_id"] == "direct-1"
    (logged,) = [line for line in lines if line.get("message") == "summing up"]
    assert (logged["run_id"], logged["trace"]) == ("direct-1", "00-4bf9")


def test_a_payload_that_does_not_fit_the_model_is_answered_with_its_error(queue: Queue, cold_start: None) -> None:
    answer = lambda_handler(event({"user": "u1"}), FakeContext())

    assert answer["error_code"] == "invalid_job_payload"
    assert "user_id: Field required" in (answer["error"] or "")


def test_a_call_that_comes_too_late_is_refused(queue: Queue, cold_start: None) -> None:
    late = event({"user_id": "u1"}, until=datetime.now(UTC) + timedelta(seconds=30))

    answer = lambda_handler(late, FakeContext(remaining_millis=60_000))

    assert answer["error_code"] == "too_late"


def test_the_sample_event_is_one() -> None:
    sample = json.loads((ROOT / "events" / "direct_run.json").read_text())

    assert DirectRun.from_event(sample).to_event() == sample


def test_an_event_that_is_half_of_one_is_refused(cold_start: None) -> None:
    with pytest.raises(InvalidInputError, match="not a direct run"):
        lambda_handler({"direct_run": "direct-1"}, FakeContext())
