"""What the requirement documents ask for, on the deployed stack; docs/requirements.md names these tests."""

from __future__ import annotations

import json
import re
import shlex
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.kernel.transitions import JobStatus
from tests.docs.markdown import text_of
from tests.e2e.test_api import Client
from tests.local_stack import LOCAL_AWS, eventually

if TYPE_CHECKING:
    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS

EXIT_UNAVAILABLE = 5
REASON = {"reason": "the requirements"}


@pytest.fixture(scope="module")
def admin(local_stack: LocalStack) -> Client:
    return Client(local_stack, "admin-grace")


def said(stack: LocalStack, *arguments: str) -> str:
    """What the command line says; where a busy machine answers too late, nothing was done, and it is asked again."""
    answer = stack.project.leasehold(*arguments, "--local")
    for _ in range(5):
        if answer.returncode == EXIT_UNAVAILABLE:
            answer = stack.project.leasehold(*arguments, "--local")
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_a_job_is_stored_under_its_time_and_its_dedup_record_points_to_it(local_stack: LocalStack):
    run_at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    made = local_stack.queue.enqueue("daily_summary", {"user_id": "ada"}, run_at=run_at, dedup_key="requirements-000")

    jobs = local_stack.client("dynamodb")
    found = jobs.scan(TableName=local_stack.tables.jobs_table)["Items"]
    (item,) = [each for each in found if each.get("job_id", {}).get("S") == made.job_id]
    (record,) = [each for each in found if each.get("job_sk", {}).get("S") == item["SK"]["S"]]

    at = f"{run_at:%Y-%m-%dT%H:%M:%S}.000Z"
    assert re.fullmatch(r"job(#.*)?", item["PK"]["S"])
    assert item["SK"]["S"] == f"scheduled#{at}#{made.job_id}"
    assert {item[name]["S"] for name in ("scheduled_for", "status", "job_type")} == {at, "pending", "daily_summary"}
    assert record["PK"]["S"].startswith("scheduled-job#")
    assert record["job_pk"] == item["PK"]
    again = local_stack.queue.enqueue("daily_summary", {"user_id": "ada"}, run_at=run_at, dedup_key="requirements-000")
    assert (again.job_id, again.created) == (made.job_id, False)
    local_stack.queue.cancel(made.job_id, reason="shown")


def test_the_requests_of_003_are_taken_as_they_are_written_there(local_stack: LocalStack, admin: Client):
    template = {"name": "weekly", "job_type": "daily_summary", "payload": {"user_id": "ada"}, **REASON}
    assert admin.send("POST /api/templates", template)[0] == 201

    status, made = admin.send("POST /api/jobs", {"template_id": "weekly", "priority": 2})

    assert status == 201
    job = local_stack.wait(made["job_id"])
    assert (job.status, job.template, int(job.priority)) == (JobStatus.COMPLETED, "weekly", 2)
    status, run = admin.send(f"GET /api/job-runs/{job.job_id}.1")
    assert (status, run["status"], run["job_status"]) == (200, "COMPLETED", "COMPLETED")
    status, again = admin.send(f"POST /api/jobs/{job.job_id}/retry")
    assert (status, again["created"]) == (201, True)
    assert local_stack.wait(again["job_id"]).retry_of == job.job_id
    status, listed = admin.send("GET /api/jobs?status=QUEUED&status=COMPLETED&job_type=daily_summary")
    assert status == 200
    assert job.job_id in {each["job_id"] for each in listed["items"]}


def test_the_example_of_the_command_line_completes_on_the_deployed_samples(local_stack: LocalStack):
    """As it stands in the help and in docs/cli.md."""
    (example,) = re.findall(r"^leasehold (enqueue daily_summary .*)$", text_of("docs/cli.md"), re.MULTILINE)
    job_id = said(local_stack, *shlex.split(example)).strip()

    local_stack.queue.reschedule(job_id)

    assert local_stack.wait(job_id).status is JobStatus.COMPLETED


def test_a_run_is_there_from_its_start(local_stack: LocalStack, admin: Client):
    job_id = local_stack.queue.enqueue("crasher", {"lingers_seconds": 6}).job_id
    assert eventually(lambda: local_stack.queue.get(job_id).started_at)

    status, run = admin.send(f"GET /api/job-runs/{job_id}.1")
    refused, problem = admin.send(f"POST /api/job-runs/{job_id}.1/retry")

    assert (status, run["status"], "ended_at" in run) == (200, "RUNNING", False)
    assert (refused, problem["code"]) == (409, "wrong_state")
    assert local_stack.wait(job_id).status is JobStatus.COMPLETED
    assert admin.send(f"GET /api/job-runs/{job_id}.1")[1]["status"] == "COMPLETED"


def test_a_dead_letter_has_the_names_of_002_and_its_redrive_is_in_the_trail_of_its_job(
    local_stack: LocalStack, admin: Client
):
    job = local_stack.wait(local_stack.queue.enqueue("flaky", {"failures": 3}).job_id)
    assert job.status is JobStatus.DEAD_LETTER

    _, dead_letter = admin.send(f"GET /api/dead-letters/{job.job_id}")
    status, redriven = admin.send(f"POST /api/dead-letters/{job.job_id}/redrive", REASON)

    assert dead_letter["original_job_id"] == job.job_id
    assert (dead_letter["failure_reason"], dead_letter["attempts"]) == ("ConnectionError: no answer to attempt 3", 3)
    assert datetime.fromisoformat(dead_letter["failed_at"]) <= datetime.now(UTC)
    assert status in {200, 201}
    _, trail = admin.send(f"GET /api/audit?target=job%23{job.job_id}")
    assert [each["action"] for each in trail["items"]] == ["redrive"]
    assert local_stack.queue.get(redriven["job_id"]).retry_of == job.job_id
    local_stack.wait(redriven["job_id"])


def test_the_queue_is_shown_in_the_order_of_dispatch_and_a_job_is_moved_to_a_position(
    local_stack: LocalStack, admin: Client
):
    local_stack.operator.pause("limited", reason="the requirements")
    try:
        ids = [local_stack.queue.enqueue("limited", {}).job_id for _ in range(3)]

        def held() -> list[dict[str, Any]]:
            items: list[dict[str, Any]] = admin.send("GET /api/queue?held_by=limited")[1]["items"]
            return items if len(items) == 3 else []

        assert eventually(held)
        last = held()[-1]["job_id"]
        assert admin.send(f"POST /api/jobs/{last}/move", {"position": 1, **REASON})[0] == 200

        assert [each["position"] for each in held()] == [1, 2, 3]
        assert held()[0]["job_id"] == last
        assert admin.send(f"GET /api/jobs/{last}")[1]["position"] == 1
    finally:
        local_stack.operator.unpause("limited", reason="shown")
    assert {local_stack.wait(each).status for each in ids} == {JobStatus.COMPLETED}


def test_a_job_that_a_person_creates_is_on_record_and_is_listed_by_when_it_was_created(local_stack: LocalStack):
    since = datetime.now(UTC) - timedelta(seconds=5)
    made = local_stack.queue.enqueue(
        "daily_summary", {"user_id": "ada"}, run_in=timedelta(hours=2), created_by="user-42"
    ).job_id

    def answer(*arguments: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = json.loads(said(local_stack, *arguments, "--json"))["items"]
        return items

    newest = answer("jobs", "--created-since", f"{since:%Y-%m-%dT%H:%M:%SZ}", "--status", "pending", "--limit", "100")
    assert made in {each["job_id"] for each in newest}
    (record,) = answer("audit", "list", "--target", made)
    assert (record["action"], record["by"]) == ("create", "user-42")
    local_stack.queue.cancel(made, reason="shown")


def test_a_schedule_is_answered_with_its_next_runs_and_says_when_it_was_triggered(
    local_stack: LocalStack, admin: Client
):
    plan = {"name": "hourly", "job_type": "daily_summary", "payload": {"user_id": "ada"}, "every": 3600, **REASON}
    status, made = admin.send("POST /api/schedules", plan)
    assert (status, len(made["next_runs"])) == (201, 5)

    _, triggered = admin.send("POST /api/schedules/hourly/trigger", REASON)

    assert local_stack.wait(triggered["job_id"]).schedule == "hourly"
    assert "last_triggered_at" in admin.send("GET /api/schedules/hourly")[1]
    # The backup of 001 is deployed with the samples, every 30 minutes.
    assert admin.send("GET /api/schedules/backup")[1]["every"] == 1800
    assert admin.send("DELETE /api/schedules/hourly", REASON)[0] == 200


def test_the_life_of_a_job_is_in_the_logs_with_its_worker_its_attempt_and_its_duration(local_stack: LocalStack):
    job = local_stack.wait(local_stack.queue.enqueue("flaky", {"failures": 1}).job_id)

    def of_this_job(function: str, event: str) -> list[dict[str, Any]]:
        return [each for each in local_stack.events(function, event) if each.get("job_id") == job.job_id]

    assert eventually(lambda: of_this_job("job-flaky", "job_completed"))
    (completed,) = of_this_job("job-flaky", "job_completed")
    (failed,) = of_this_job("job-flaky", "job_failed")
    assert (completed["attempt"], completed["duration_ms"] >= 0) == (2, True)
    assert (failed["error_code"], failed["will_retry"]) == ("ConnectionError", True)
    # One line for each run: of its claim it says when and by whom; `job_claimed` itself is at level DEBUG.
    assert {each["job_type"] for each in (completed, failed)} == {"flaky"}
    assert all(each["worker_id"] and each["claimed_at"] for each in (completed, failed))
    assert of_this_job("poller", "job_claimed") == []
