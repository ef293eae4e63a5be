"""Every function answers its samples in events/, called with `leasehold local invoke`."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

from leasehold.aws.dispatcher import RUN_ID
from leasehold.aws.handovers import handover_of
from leasehold.direct_runs.model import DirectRequest
from leasehold.direct_runs.run import accept, find_direct
from leasehold.kernel.enqueue import NewJob, draft, request_of
from leasehold.kernel.jobs import insertion
from leasehold.kernel.keys import to_text
from leasehold.kernel.registry_records import registry_record
from leasehold.kernel.table import Update
from leasehold.kernel.transitions import JobStatus
from leasehold.local.aws.inspection import deployed_functions
from leasehold.schedules.records import schedule_key
from tests.local_stack import LOCAL_AWS, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS


def invoke(stack: LocalStack, function: str, event: str | Path) -> Any:
    answer = stack.project.leasehold("local", "invoke", function, "--event", event)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return json.loads(answer.stdout)


@contextmanager
def asleep(stack: LocalStack) -> Iterator[None]:
    """Nobody but the test calls the poller."""
    with stack.without_tick(), stack.without_stream():
        send_the_resident_away(stack)
        yield


def send_the_resident_away(stack: LocalStack) -> None:
    """One that waits for what is near, such as the next look at a line, would claim what the test makes."""
    clock, pollers = stack.queue.services.clock, stack.queue.services.store.pollers
    while pollers.waiter_lease()[0] not in {None, "the test"}:
        pollers.acquire_waiter_lease("the test", clock.now(), clock.now() + timedelta(seconds=10), from_anyone=True)
        # It looks at least every 5 s whether it is still the one.
        clock.sleep(timedelta(seconds=6))
    pollers.release_waiter_lease("the test")


def sample_of(stack: LocalStack, name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((stack.project.root / "events" / f"{name}.json").read_text())
    return read


def test_the_tick_hands_over_what_is_due(local_stack: LocalStack):
    with asleep(local_stack):
        job_id = local_stack.queue.enqueue("daily_summary", {"user_id": "ada"}).job_id
        answer = invoke(local_stack, "poller", "events/poller_tick.json")

    assert (answer["failed"], answer["dispatched"] >= 1) == (0, True)
    assert local_stack.wait(job_id).status is JobStatus.COMPLETED


def test_the_wake_hands_over_the_job_that_it_shows(local_stack: LocalStack):
    (record,) = sample_of(local_stack, "poller_wake")["Records"]
    image = record["dynamodb"]["NewImage"]
    with asleep(local_stack):
        local_stack.client("dynamodb").put_item(TableName=local_stack.tables.jobs_table, Item=image)
        answer = invoke(local_stack, "poller", "events/poller_wake.json")

    assert (answer["batchItemFailures"], answer["dispatched"] >= 1) == ([], True)
    assert local_stack.wait(image["job_id"]["S"]).status is JobStatus.COMPLETED


def test_a_resident_that_nobody_reserved_a_place_for_leaves_at_once(local_stack: LocalStack):
    assert invoke(local_stack, "poller", "events/poller_waiting.json")["failed"] == 0


def test_the_hand_over_runs_its_job(local_stack: LocalStack):
    """The job that it names, claimed as it says."""
    handover = handover_of(sample_of(local_stack, "handover"))
    services = local_stack.queue.services
    request = request_of(NewJob(job=handover.job_type, payload={"user_id": "ada"}))
    made = draft(request, services, job_id=handover.job_id).job
    claimed = replace(
        made,
        status=JobStatus.IN_PROGRESS,
        due=handover.lease,
        wake=False,
        locked_by=handover.token,
        locked_at=made.created_at,
        lock_expires_at=handover.lease.at,
    )
    with asleep(local_stack):
        assert services.store.table.write(insertion(claimed))
        answer = invoke(local_stack, "job-daily_summary", "events/handover.json")

    assert answer == {"job_id": handover.job_id, "execution": "completed"}
    assert local_stack.queue.get(handover.job_id).result == {"user_id": "ada", "summary": "The day went well."}


def test_the_direct_run_is_answered_with_its_result(local_stack: LocalStack):
    answer = invoke(local_stack, "job-daily_summary", "events/direct_run.json")

    assert "The day went well." in json.dumps(answer)


def test_the_runner_does_the_direct_run_that_was_asked_for(local_stack: LocalStack):
    run_id = sample_of(local_stack, "direct_runner")[RUN_ID]
    services = local_stack.queue.services
    wanted = DirectRequest(
        run_id=run_id,
        job_type="limited",
        payload_text="{}",
        timeout=timedelta(seconds=30),
        fingerprint="",
        by="a sample",
        asked_at=services.clock.now(),
    )
    accept(wanted, services, reason="a sample")

    invoke(local_stack, "direct-runner", "events/direct_runner.json")

    assert find_direct(run_id, local_stack.queue.services).state == "completed"


def test_the_request_makes_its_job(local_stack: LocalStack):
    answer = invoke(local_stack, "api", "events/api_request.json")

    assert answer["statusCode"] == 201
    assert local_stack.wait(json.loads(answer["body"])["job_id"]).status is JobStatus.COMPLETED


def test_the_schedule_trigger_makes_the_job_of_a_slot_that_has_come(local_stack: LocalStack):
    services = local_stack.queue.services
    with asleep(local_stack):
        # As if nobody had looked since.
        earlier = {"cursor": to_text(services.clock.now() - timedelta(minutes=31))}
        services.store.table.write(Update(key=schedule_key("backup"), conditions=(), sets=earlier))
        answer = invoke(local_stack, "schedule-trigger", "events/schedule_trigger.json")

    assert answer["schedule"] == "backup"
    assert services.store.schedules.get("backup").last_job_id is not None  # type: ignore[union-attr]


def test_the_reporter_reports_the_dead_letter_that_the_stream_shows(local_stack: LocalStack):
    records = sample_of(local_stack, "dead_letter_stream")["Records"]
    dead_letters = [each["dynamodb"]["NewImage"] for each in records if each["eventName"] == "INSERT"]
    for dead_letter in dead_letters:
        local_stack.client("dynamodb").put_item(TableName=local_stack.tables.dead_letters_table, Item=dead_letter)

    assert invoke(local_stack, "dead-letter-reporter", "events/dead_letter_stream.json") == {"batchItemFailures": []}

    def reported() -> bool:
        found = [local_stack.operator.dead_letter(dead_letter["id"]["S"]) for dead_letter in dead_letters]
        return all(each.reported_at is not None for each in found)

    assert eventually(reported)


def test_the_root_of_all_trails_is_kept(local_stack: LocalStack):
    answer = invoke(local_stack, "audit-root", "events/audit_root.json")

    assert re.fullmatch(r"[0-9a-f]{64}", answer["digest"])


def test_the_sweep_says_what_it_found(local_stack: LocalStack):
    answer = invoke(local_stack, "dead-letter-reporter", "events/dead_letter_sweep.json")

    assert answer["untaken"] == 0


def test_the_registry_publisher_tells_cloudformation_that_it_is_done(local_stack: LocalStack):
    told: list[dict[str, Any]] = []

    class CloudFormation(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    registry = local_stack.queue.services.deployment.registry(fresh=True)
    template = local_stack.client("cloudformation").get_template(StackName="leasehold-local-queue")["TemplateBody"]
    resources = (json.loads(template) if isinstance(template, str) else template)["Resources"].values()
    (schedules,) = [
        each["Properties"]["Schedules"] for each in resources if each["Type"] == "Custom::LeaseholdRegistry"
    ]
    with HTTPServer(("127.0.0.1", 0), CloudFormation) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        event = json.loads((local_stack.project.root / "events" / "registry_publisher.json").read_text())
        event["ResponseURL"] = f"http://127.0.0.1:{server.server_port}/"
        # What is deployed stays deployed.
        event["ResourceProperties"] |= {"Registry": json.dumps(registry_record(registry)), "Schedules": schedules}
        changed = local_stack.project.root / "registry_publisher.json"
        changed.write_text(json.dumps(event))
        invoke(local_stack, "registry-publisher", changed)
        server.shutdown()

    assert [(answer["Status"], answer["RequestId"]) for answer in told] == [("SUCCESS", event["RequestId"])]
    assert local_stack.queue.services.deployment.registry(fresh=True) == registry


def test_a_function_that_is_not_there_is_named_with_those_that_are(local_stack: LocalStack):
    answer = local_stack.project.leasehold("local", "invoke", "pollr", "--event", "events/poller_tick.json")

    assert answer.returncode == 2
    assert "no such function is deployed" in answer.stderr
    assert ", ".join(each.name for each in deployed_functions(local_stack.running)) in answer.stderr


def test_a_function_that_fails_makes_the_command_fail(local_stack: LocalStack):
    answer = local_stack.project.leasehold("local", "invoke", "job-daily_summary", "--event", "events/poller_tick.json")

    assert answer.returncode == 1
    assert "errorMessage" in json.loads(answer.stdout)


def test_status_and_logs_show_what_is_deployed_and_what_it_did(local_stack: LocalStack):
    status = local_stack.project.leasehold("local", "status")
    logs = local_stack.project.leasehold("local", "logs", "poller")

    assert "stack    leasehold-local-queue" in status.stdout
    assert "function job-daily_summary" in status.stdout
    assert "  INFO     poller  poll_finished" in logs.stdout
    assert "RequestId" not in logs.stdout
    raw = local_stack.project.leasehold("local", "logs", "poller", "--raw").stdout
    assert '"event":"poll_finished"' in raw
    assert all(line.startswith("poller  ") for line in raw.splitlines())
