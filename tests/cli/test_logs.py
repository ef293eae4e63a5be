"""`leasehold logs`: the lines of one job, of its handler and of the poller, as people read them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from leasehold.verify.site import Site
from tests.cli.operators_shell import Shell


class Cloud:
    """Lambda and CloudWatch as a stubbed boto3 client answers for them, each call held to its model."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "region_name": "eu-central-1"}
        self.clients: dict[str, Any] = {name: boto3.client(name, **keys) for name in ("lambda", "logs")}  # type: ignore[call-overload]
        self._stubs = {name: Stubber(client) for name, client in self.clients.items()}
        functions = [
            _function("stack-Poller-1", LEASEHOLD_POLL_LIMIT="25"),
            _function("stack-Job-2"),
            _function("stack-Other-3"),
            _function("somebody-elses", LEASEHOLD_JOBS_TABLE="another"),
        ]
        self._stubs["lambda"].add_response("list_functions", {"Functions": functions})
        for stub in self._stubs.values():
            stub.activate()

    def logged(self, job_id: str, group: str, *events: tuple[int, str]) -> None:
        asked = {
            "logGroupName": group,
            "filterPattern": f'"{job_id}"',
            "startTime": ANY,
            "endTime": ANY,
        }
        answer = {"events": [{"timestamp": at, "message": text} for at, text in events]}
        self._stubs["logs"].add_response("filter_log_events", answer, asked)

    def never_logged(self) -> None:
        self._stubs["logs"].add_client_error("filter_log_events", "ResourceNotFoundException")

    def open(self) -> Site:
        return Site(self._shell.test.queue, self.clients.__getitem__, name="dev", tables=("jobs", "dead-letters"))


def _function(name: str, **variables: str) -> dict[str, Any]:
    return {
        "FunctionName": name,
        "FunctionArn": f"arn:aws:lambda:eu-central-1:123456789012:function:{name}",
        "Role": "arn:aws:iam::123456789012:role/a-role",
        "Environment": {"Variables": {"LEASEHOLD_JOBS_TABLE": "jobs", **variables}},
        "LoggingConfig": {"LogGroup": f"/group/{name}"},
    }


@pytest.fixture
def shell() -> Shell:
    made = Shell()
    registry = made.test.services.deployment.registry()
    functions = {"daily_summary": "stack-Job-2", "user_sync": "stack-Other-3"}
    types = {name: replace(each, function=functions.get(name)) for name, each in registry.types.items()}
    made.test.operator.publish(replace(registry, types=types))
    return made


@pytest.fixture
def cloud(shell: Shell) -> Cloud:
    made = Cloud(shell)
    shell.site = made.open
    return made


def test_lines_of_handler_and_poller_are_told_in_order_of_time_with_level_and_message(shell: Shell, cloud: Cloud):
    job_id = shell.done_job()
    own = json.dumps(
        {"level": "WARNING", "message": "nearly full", "job_id": job_id, "disk": "b", "service": "handler"}
    )
    end = json.dumps(
        {"_aws": {}, "level": "INFO", "message": "job_completed", "job_id": job_id, "attempt": 1, "seconds": [0.5]}
    )
    cloud.logged(job_id, "/group/stack-Job-2", (1_800_000_000_250, own), (1_800_000_001_000, end))
    cloud.logged(job_id, "/group/stack-Poller-1", (1_800_000_000_001, f'{{"event":"job_claimed","job_id":"{job_id}"}}'))

    assert shell.ok("logs", job_id).splitlines() == [
        "2027-01-15 08:00:00.001Z  -        poller  job_claimed",
        "2027-01-15 08:00:00.250Z  WARNING  daily_summary  nearly full  disk=b",
        "2027-01-15 08:00:01.000Z  INFO     daily_summary  job_completed  attempt=1",
    ]


def test_a_traceback_stands_below_its_line_and_cannot_command_the_terminal(shell: Shell, cloud: Cloud):
    job_id = shell.dead_job()
    line = {"level": "ERROR", "message": "it \x1b[2Jbroke", "job_id": job_id, "exception": "Traceback:\n  line 7"}
    cloud.logged(job_id, "/group/stack-Other-3", (1_800_000_000_000, json.dumps(line)))
    cloud.never_logged()

    printed = shell.ok("logs", job_id)

    assert printed.splitlines()[1:] == ["    Traceback:", "      line 7"]
    assert "\x1b" not in printed


def test_what_does_not_name_the_job_is_left_out_where_the_filter_let_it_through(shell: Shell, cloud: Cloud):
    job_id = shell.done_job()
    cloud.logged(job_id, "/group/stack-Job-2", (1, "START RequestId: 7"), (2, f"plain text about {job_id}"))
    cloud.logged(job_id, "/group/stack-Poller-1")

    (line,) = [json.loads(each) for each in shell.ok("logs", job_id, "--json").splitlines()]

    assert (line["message"], line["function"]) == (f"plain text about {job_id}", "daily_summary")


def test_no_lines_are_said_to_be_none_and_no_job_is_not_found(shell: Shell, cloud: Cloud):
    job_id = shell.enqueue()
    cloud.never_logged()
    cloud.never_logged()

    result = shell.run("logs", job_id)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No line names it. It is pending" in result.stderr

    assert shell.run("logs", "01a1de8a-c9c0-8000-9c5f-3a5d8a1b2c3d").exit_code == 3
