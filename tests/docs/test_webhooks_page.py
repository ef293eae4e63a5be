"""docs/webhooks.md says what the code does."""

from __future__ import annotations

import json
import tomllib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from leasehold import Job, Outcome, Priority, Run
from leasehold.job_folders.features import WebhookTable
from leasehold.kernel.keys import SYSTEM_CODE, Due, JobId, JobPartition, from_text
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.type_options import DELIVERY
from leasehold.testing import LeaseholdTest
from leasehold.webhooks import new_key
from leasehold.webhooks.address import RunEvent, Webhook
from leasehold.webhooks.model import MAX_SHOWN_RESULT_BYTES, RETRY_AFTER, delivery_type, external_status, run_document
from leasehold.webhooks.standard import TOLERANCE, parse_key, signed_headers
from tests.cost.test_write_units import own_units
from tests.docs.markdown import code_blocks, text_of

if TYPE_CHECKING:
    import pytest

PAGE = "docs/webhooks.md"


def test_its_events_and_numbers_are_those_of_the_code() -> None:
    page = text_of(PAGE)

    assert [event for event in RunEvent if f"| `{event}` |" not in page] == []
    assert [status for status in JobStatus if f"`{external_status(status)}`" not in page] == []
    assert f"after {RETRY_AFTER[0]}, {RETRY_AFTER[1]} and {RETRY_AFTER[2]} seconds" in page
    assert f"more than {MAX_SHOWN_RESULT_BYTES} bytes" in page
    assert f"`{JobPartition(SYSTEM_CODE).name}`" in page
    assert f"`{DELIVERY}`" in page
    assert (delivery_type().max_attempts, TOLERANCE.total_seconds()) == (10, 300)
    told, again = own_units("told by a webhook"), own_units("told by a webhook at the second try")
    assert (told - own_units("plain"), again - told) == (12, 10)


def test_its_example_of_a_job_toml_is_one() -> None:
    (example,) = code_blocks(PAGE, "toml")

    read = WebhookTable.model_validate(tomllib.loads(example)["webhook"])

    assert Webhook(**dict(read)) == Webhook(
        url="https://hooks.example.com/jobs", events=(RunEvent.COMPLETED, RunEvent.DEAD_LETTERED)
    )


def test_its_example_of_a_message_is_one() -> None:
    (example,) = code_blocks(PAGE, "json")
    shown = json.loads(example)
    data = shown["data"]
    run = Run(
        number=1,
        worker="w",
        started_at=from_text(data["started_at"]),
        ended_at=from_text(data["ended_at"]),
        outcome=Outcome.FAILED,
        error="Traceback\n  File\nConnectionError: no answer",
        error_code="ConnectionError",
    )
    job = Job(
        job_id=JobId(data["job_id"]),
        job_type="daily_summary",
        stored_payload="{}",
        scheduled_for=run.started_at,
        status=JobStatus.FAILED,
        priority=Priority.NORMAL,
        max_attempts=5,
        created_at=run.started_at,
        due=Due(from_text(data["next_attempt_at"]), "0", data["job_id"]),
        runs=(run,),
    )

    assert list(run_document(job, run).items()) == list(data.items())
    assert shown["type"] == RunEvent.FAILED
    assert shown["timestamp"] == data["ended_at"]


def test_its_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    enqueue, receive, look = code_blocks(PAGE, "python")
    test = LeaseholdTest()
    test.register("daily_summary", None)
    shown: dict[str, Any] = {"queue": test.queue}
    exec(enqueue, shown)
    (job,) = test.jobs()
    exec(look, {**shown, "job_id": job.job_id})
    exec(receive, shown)
    key, body = new_key(), json.dumps({"type": "job.run.completed", "data": {"job_id": "j"}}).encode()
    headers = signed_headers([parse_key(key)], "m", datetime.now(UTC), body)

    assert job.webhook == "https://hooks.example.com/jobs"
    assert shown["receive"](body, headers, key) == 204
    assert shown["receive"](body + b" ", headers, key) == 401
    assert capsys.readouterr().out == "job.run.completed j\n"
