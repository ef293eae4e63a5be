"""Every function answers its samples in events/, called with `leasehold local invoke`."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.local.aws.inspection import functions
from leasehold.store.registries import registry_record
from tests.local_stack import LOCAL_AWS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS


def invoke(stack: LocalStack, function: str, event: str | Path) -> Any:
    answer = stack.project.leasehold("local", "invoke", function, "--event", event)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return json.loads(answer.stdout)


@pytest.mark.parametrize("sample", ["poller_tick", "poller_wake", "poller_resident"])
def test_the_poller_answers_with_what_it_did(local_stack: LocalStack, sample: str):
    answer = invoke(local_stack, "poller", f"events/{sample}.json")

    assert answer["batchItemFailures"] == []
    # The job that the wake hints at is long gone: its claim is refused, and nothing happens.
    assert (answer["failed"], answer["stopped_by"]) == (0, "nothing due")


def test_a_handler_does_not_start_a_job_that_is_not_there(local_stack: LocalStack):
    answer = invoke(local_stack, "job-daily_summary", "events/handover.json")

    assert answer == {"job_id": "01a1de8a-c9c0-800b-9f13-3a5d8a1b2c3d", "execution": "not_started"}


def test_the_schedule_trigger_says_what_it_made(local_stack: LocalStack):
    answer = invoke(local_stack, "schedule-trigger", "events/schedule_trigger.json")

    assert answer["schedule"] == "backup"


def test_the_reporter_passes_by_letters_that_are_not_there(local_stack: LocalStack):
    assert invoke(local_stack, "dead-letter-reporter", "events/dead_letter_stream.json") == {"batchItemFailures": []}


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

    registry = local_stack.queue.parts.deployment.registry(fresh=True)
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
    assert local_stack.queue.parts.deployment.registry(fresh=True) == registry


def test_a_function_that_is_not_there_is_named_with_those_that_are(local_stack: LocalStack):
    answer = local_stack.project.leasehold("local", "invoke", "pollr", "--event", "events/poller_tick.json")

    assert answer.returncode == 2
    assert "no such function is deployed" in answer.stderr
    assert ", ".join(functions(local_stack.running)) in answer.stderr


def test_a_function_that_fails_makes_the_command_fail(local_stack: LocalStack):
    answer = local_stack.project.leasehold("local", "invoke", "job-daily_summary", "--event", "events/poller_tick.json")

    assert answer.returncode == 1
    assert "errorMessage" in json.loads(answer.stdout)


def test_status_and_logs_show_what_is_deployed_and_what_it_did(local_stack: LocalStack):
    status = local_stack.project.leasehold("local", "status")
    logs = local_stack.project.leasehold("local", "logs", "poller")

    assert "stack    leasehold-local-queue" in status.stdout
    assert "function job-daily_summary" in status.stdout
    assert '"event":"poll_finished"' in logs.stdout
    assert all(line.startswith("poller  ") for line in logs.stdout.splitlines())
