"""Jobs that fail: tried again, and in the end a dead letter that Sentry knows of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from leasehold.kernel.job import Outcome
from leasehold.kernel.transitions import JobStatus
from tests.local_stack import LOCAL_AWS, eventually

if TYPE_CHECKING:
    from typing import Any

    from leasehold.kernel.keys import JobId
    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS

# It stands in the payload and nowhere else: should it appear in a report, the payload has left the account.
SECRET = "correct-horse-battery-staple"


def reports(stack: LocalStack, job_id: JobId, level: str) -> list[dict[str, Any]]:
    return [
        event for event in list(stack.sentry.events) if event["level"] == level and event["tags"]["job_id"] == job_id
    ]


def test_a_job_that_failed_is_tried_again_and_the_failure_is_a_warning(local_stack: LocalStack):
    job = local_stack.wait(local_stack.queue.enqueue("flaky", {"failures": 1, "note": SECRET}).job_id)

    assert job.status is JobStatus.COMPLETED
    assert [run.outcome for run in job.runs] == [Outcome.FAILED, Outcome.COMPLETED]
    assert job.result == {"answered_at_attempt": 2}
    (warning,) = eventually(lambda: reports(local_stack, job.job_id, "warning"))
    assert warning["exception"]["values"][-1]["type"] == "ConnectionError"
    assert not reports(local_stack, job.job_id, "error")


def test_a_dead_letter_reaches_sentry_once_with_its_runs_and_without_its_payload(local_stack: LocalStack):
    job = local_stack.wait(local_stack.queue.enqueue("flaky", {"failures": 3, "note": SECRET}).job_id)

    assert job.status is JobStatus.DEAD_LETTER
    (error,) = eventually(lambda: reports(local_stack, job.job_id, "error"))
    assert error["tags"]["job_type"] == "flaky"
    assert error["environment"] == "local"
    assert error["exception"]["values"][-1]["value"] == "no answer to attempt 3"
    assert SECRET not in json.dumps(error)
    dead_letter = eventually(
        lambda: found if (found := local_stack.operator.dead_letter(job.job_id)).reported_at is not None else None
    )
    assert dead_letter is not None
    assert dead_letter.attempts == 3
    (alert,) = [
        line for line in local_stack.events("dead-letter-reporter", "dead_letter_alert") if line["job_id"] == job.job_id
    ]
    assert (alert["level"], alert["attempt_count"]) == ("ERROR", 3)


def test_what_sentry_did_not_take_goes_back_to_the_stream_and_is_taken_when_it_comes_again(local_stack: LocalStack):
    local_stack.sentry.down()
    try:
        job = local_stack.wait(local_stack.queue.enqueue("flaky", {"failures": 3}).job_id)
        untaken = eventually(
            lambda: [
                line
                for line in local_stack.events("dead-letter-reporter", "report_failed")
                if line["job_id"] == job.job_id
            ]
        )
        assert untaken
        assert local_stack.operator.dead_letter(job.job_id).reported_at is None
    finally:
        local_stack.sentry.up()

    # This local AWS passes by what a function gives back; AWS delivers it again, like this.
    again = {
        "Records": [
            {
                "eventName": "INSERT",
                "eventSource": "aws:dynamodb",
                "dynamodb": {"Keys": {"id": {"S": job.job_id}}, "SequenceNumber": "1"},
            }
        ]
    }
    event = local_stack.project.root / "again.json"
    event.write_text(json.dumps(again))

    def deliver() -> bool:
        answer = local_stack.project.leasehold("local", "invoke", "dead-letter-reporter", "--event", event)
        assert answer.returncode == 0, answer.stderr
        return bool(json.loads(answer.stdout) == {"batchItemFailures": []})

    # At first it may still rest from its last try.
    assert eventually(deliver, every=2)
    assert reports(local_stack, job.job_id, "error")
    assert local_stack.operator.dead_letter(job.job_id).reported_at is not None
