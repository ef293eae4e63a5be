from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import NewJob
from leasehold.aws import names as variables
from leasehold.functions.poller import lambda_handler
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.keys import key_of
from leasehold.kernel.transitions import JobStatus
from tests.functions.conftest import FUNCTION, POLLER, FakeContext

if TYPE_CHECKING:
    from leasehold import Job, Operator, Queue
    from tests.functions.conftest import FakeLambda

pytestmark = pytest.mark.dynoxide

ROOT = Path(__file__).parent.parent.parent
TICK = json.loads((ROOT / "events" / "poller_tick.json").read_text())


def metrics_of(printed: str) -> dict[str, Any]:
    """The embedded metrics among printed lines, by name."""
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    documents = [line for line in lines if "_aws" in line]
    named = [(metric["Name"], document) for document in documents for metric in _declared(document)]
    return {name: document[name] for name, document in named}


def _declared(document: dict[str, Any]) -> list[dict[str, str]]:
    return [metric for group in document["_aws"]["CloudWatchMetrics"] for metric in group["Metrics"]]


def test_a_due_job_is_handed_to_the_function_of_its_type(queue: Queue, aws_lambda: FakeLambda) -> None:
    job_id = queue.enqueue("daily_summary", {"user_id": "u1"}).job_id

    report = lambda_handler(TICK, FakeContext())

    assert report["dispatched"] == 1
    assert [(function, event["job_id"]) for function, event in aws_lambda.invoked] == [(FUNCTION, job_id)]
    assert queue.get(job_id).status is JobStatus.IN_PROGRESS


def test_poller_and_handler_together_complete_a_job(queue: Queue, aws_lambda: FakeLambda) -> None:
    job_id = queue.enqueue("daily_summary", {"user_id": "u1"}).job_id

    lambda_handler(TICK, FakeContext())
    answers = aws_lambda.run_all()

    assert answers == [{"job_id": job_id, "execution": "completed"}]
    job = queue.get(job_id)
    assert job.status is JobStatus.COMPLETED
    assert job.result == {"user_id": "u1", "summary": "The day went well."}


def test_nothing_is_claimed_when_the_invocation_is_nearly_over(queue: Queue, aws_lambda: FakeLambda) -> None:
    job_id = queue.enqueue("daily_summary", {"user_id": "u1"}).job_id
    almost_none = FakeContext(remaining_millis=5_000)

    report = lambda_handler(TICK, almost_none)

    assert (report["claimed"], report["stopped_by"]) == (0, "deadline")
    assert queue.get(job_id).status is JobStatus.PENDING


def test_after_sigterm_what_is_under_way_is_finished_and_the_rest_left_or_put_back(
    queue: Queue, aws_lambda: FakeLambda
) -> None:
    queue.enqueue_many([NewJob(job="daily_summary", payload={"user_id": f"u{number}"}) for number in range(100)])
    before = signal.getsignal(signal.SIGTERM)
    aws_lambda.on_invoke = lambda: os.kill(os.getpid(), signal.SIGTERM)

    report: dict[str, Any] = lambda_handler(TICK, FakeContext())

    assert report["stopped_by"] == "asked to stop"
    assert report["claimed"] < 100
    assert report["dispatched"] + report["released"] == report["claimed"]
    assert report["dispatched"] == len(aws_lambda.invoked)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_tick_leaves_a_heartbeat_and_the_depth_of_the_queue(
    queue: Queue, operator: Operator, aws_lambda: FakeLambda, capsys: pytest.CaptureFixture[str]
) -> None:
    operator.pause("daily_summary", reason="the mail server is down")
    queue.enqueue("daily_summary", {"user_id": "u1"})

    # Little time, or it would stay and wait for the moment at which held jobs are looked at again.
    lambda_handler(TICK, FakeContext(remaining_millis=5_000))

    metrics = metrics_of(capsys.readouterr().out)
    assert metrics["heartbeat"][0] == 1.0
    assert metrics["job_queue_depth"] == [1.0]
    assert metrics["job_notification_received_total"] == [1.0]


def test_the_heartbeat_goes_on_while_the_system_is_halted(
    queue: Queue, operator: Operator, aws_lambda: FakeLambda, capsys: pytest.CaptureFixture[str]
) -> None:
    queue.enqueue("daily_summary", {"user_id": "u1"})
    operator.halt(reason="bad deploy")

    report = lambda_handler(TICK, FakeContext())

    assert (report["claimed"], report["stopped_by"]) == (0, "halt")
    printed = capsys.readouterr().out
    assert metrics_of(printed)["heartbeat"][0] == 1.0
    assert "job worker paused due to system halt" in printed


def test_metrics_are_written_even_if_the_poll_fails(
    queue: Queue, aws_lambda: FakeLambda, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("measuring failed")

    monkeypatch.setattr("leasehold.operate.measure.measure", fail)

    with pytest.raises(RuntimeError, match="measuring failed"):
        lambda_handler(TICK, FakeContext())

    assert metrics_of(capsys.readouterr().out)["heartbeat"][0] == 1.0


def test_a_wake_claims_the_job_that_the_stream_shows_and_does_not_measure(
    queue: Queue, aws_lambda: FakeLambda, capsys: pytest.CaptureFixture[str]
) -> None:
    job_id = queue.enqueue("daily_summary", {"user_id": "u1"}).job_id

    report = lambda_handler(wake_for(queue.get(job_id)), FakeContext())

    assert (report["dispatched"], report["batchItemFailures"]) == (1, [])
    assert "job_queue_depth" not in metrics_of(capsys.readouterr().out)


def test_a_wake_for_a_job_that_is_due_soon_starts_one_resident_and_does_not_wait_itself(
    queue: Queue, aws_lambda: FakeLambda
) -> None:
    job_id = queue.enqueue("daily_summary", {"user_id": "u1"}, run_in=timedelta(seconds=60)).job_id
    wake = wake_for(queue.get(job_id))

    lambda_handler(wake, FakeContext())
    lambda_handler(wake, FakeContext())

    assert [(function, event["source"]) for function, event in aws_lambda.invoked] == [(POLLER, "leasehold.waiting")]


def wake_for(job: Job) -> dict[str, Any]:
    """What the job table's stream says when a job was written."""
    assert job.due is not None
    image = {
        "PK": {"S": key_of(job.job_id).pk},
        "SK": {"S": key_of(job.job_id).sk},
        "due_key": {"S": job.due.key},
        "job_type": {"S": job.job_type},
        "status": {"S": str(job.status)},
        "priority": {"N": str(int(job.priority))},
    }
    return {"Records": [{"eventSource": "aws:dynamodb", "dynamodb": {"NewImage": image}}]}


def test_a_future_job_is_left_alone(queue: Queue, aws_lambda: FakeLambda) -> None:
    queue.enqueue("daily_summary", {"user_id": "u1"}, run_in=timedelta(hours=1))

    assert lambda_handler(TICK, FakeContext())["scanned"] == 0


def test_a_function_without_its_environment_says_which_variable_is_missing(
    aws_lambda: FakeLambda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(variables.JOBS_TABLE)

    with pytest.raises(InvalidOptionError, match="LEASEHOLD_JOBS_TABLE is not set"):
        lambda_handler(TICK, FakeContext())


def test_importing_the_poller_neither_reads_the_environment_nor_imports_pydantic() -> None:
    program = (
        "import os, sys; before = dict(os.environ); import leasehold.functions.poller;"
        "print([name for name in ('pydantic', 'typer', 'rich', 'boto3') if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True, env={"PATH": ""}
    )

    assert answer.stdout.strip() == "[]"
