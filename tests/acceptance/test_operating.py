"""Operators' commands through the real program, on tables of a local AWS that says who they are."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from leasehold import JobType, Registry
from leasehold.kernel.dynamodb.table import TableNames
from leasehold.operate.operator import Operator
from leasehold.queue import Queue
from tests.local_project import LEASEHOLD
from tests.tables import create_tables
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mypy_boto3_dynamodb import DynamoDBClient

    from tests.local_stack import LocalStack

pytestmark = pytest.mark.ministack
CREDENTIALS: dict[str, Any] = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
AWS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def execute(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    """Nothing of the tests' own settings reaches the program."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        command, env={**inherited, **environment}, capture_output=True, text=True, check=False, timeout=60
    )


@dataclass
class Deployed:
    """Two tables with a registry, reached by the names of a stage as a deployment gives them."""

    endpoint: str
    stage: str

    def leasehold(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return execute({**AWS, **self.environment, **environment}, str(LEASEHOLD), *arguments)

    def answer(self, *arguments: str) -> dict[str, Any]:
        done = self.leasehold(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert isinstance(document, dict)
        return document

    def terminal(self, *arguments: str, **environment: str) -> Terminal:
        return Terminal([str(LEASEHOLD), *arguments], {**AWS, **self.environment, **environment})

    @property
    def environment(self) -> dict[str, str]:
        return {"LEASEHOLD_QUEUE": self.stage, "AWS_ENDPOINT_URL": self.endpoint}


@pytest.fixture(scope="module")
def deployed(ministack_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> Deployed:
    stage = f"cli{uuid.uuid4().hex[:8]}"
    names = TableNames(jobs=f"leasehold-{stage}-jobs", dead_letters=f"leasehold-{stage}-dead-letters")
    client = make_client(ministack_endpoint)
    create_tables(client, names)
    published = {"jobs_table": names.jobs, "dead_letters_table": names.dead_letters}
    boto3.Session(**CREDENTIALS).client("ssm", endpoint_url=ministack_endpoint).put_parameter(
        Name=f"/leasehold/{stage}", Value=json.dumps(published), Type="String"
    )
    queue = Queue.connect(names.jobs, names.dead_letters, client=client)
    Operator(queue.services).publish(Registry(types={"daily_summary": JobType(name="daily_summary")}))
    return Deployed(ministack_endpoint, stage)


def test_a_job_is_made_seen_moved_and_cancelled_and_aws_says_by_whom(deployed: Deployed):
    made = deployed.leasehold("enqueue", "daily_summary", "--payload", '{"user": "ada"}', "--in", "1h", "--reason", "x")
    assert made.returncode == 0, made.stderr
    job_id = made.stdout.strip()

    assert [item["job_id"] for item in deployed.answer("jobs", "--status", "pending")["items"]] == [job_id]
    assert deployed.answer("job", "priority", job_id, "high", "--reason", "urgent")["priority"] == 2
    assert deployed.answer("cancel", job_id, "--reason", "withdrawn") == {"job_id": job_id, "job_ended": True}

    again = deployed.leasehold("cancel", job_id, "--reason", "withdrawn")
    assert again.returncode == 4
    assert again.stderr.startswith("wrong_state: ")

    records = deployed.answer("audit", "list", "--target", job_id)["items"]
    assert [record["action"] for record in records] == ["cancel", "edit", "create"]
    assert all(record["by"].startswith("arn:aws:") for record in records)
    assert deployed.answer("audit", "verify")["is_sound"] is True


def test_an_endpoint_and_table_names_can_be_options(deployed: Deployed):
    names = ["--jobs-table", f"leasehold-{deployed.stage}-jobs"]
    names += ["--dead-letters-table", f"leasehold-{deployed.stage}-dead-letters"]

    done = execute(AWS, str(LEASEHOLD), "status", "--json", *names, "--endpoint-url", deployed.endpoint)

    assert done.returncode == 0, done.stderr
    assert "daily_summary" in json.loads(done.stdout)["control"]["types"]


def test_a_profile_brings_region_and_credentials(deployed: Deployed, tmp_path: Path):
    config, credentials = tmp_path / "config", tmp_path / "credentials"
    config.write_text("[profile ops]\nregion = us-east-1\n")
    credentials.write_text("[ops]\naws_access_key_id = test\naws_secret_access_key = test\n")
    files = {"AWS_CONFIG_FILE": str(config), "AWS_SHARED_CREDENTIALS_FILE": str(credentials)}
    known = {**deployed.environment, **files, "AWS_EC2_METADATA_DISABLED": "true"}

    with_it = execute(known, str(LEASEHOLD), "pause", "daily_summary", "--profile", "ops", "--reason", "x")
    without = execute(known, str(LEASEHOLD), "resume", "daily_summary", "--region", "us-east-1", "--reason", "x")
    unknown = execute(known, str(LEASEHOLD), "status", "--profile", "nope")

    assert with_it.returncode == 0, with_it.stderr
    assert (without.returncode, unknown.returncode) == (5, 5)
    assert "Unable to locate credentials" in without.stderr
    assert "--profile" in without.stderr
    assert unknown.stderr.startswith("aws_error: ")
    assert deployed.leasehold("resume", "daily_summary", "--reason", "x").returncode == 0


def test_a_queue_that_is_not_deployed_and_an_aws_that_does_not_answer_are_told_in_a_line(deployed: Deployed):
    elsewhere = deployed.leasehold("jobs", "--queue", "nowhere")
    closed = deployed.leasehold("jobs", AWS_ENDPOINT_URL="http://127.0.0.1:9", AWS_MAX_ATTEMPTS="1")

    for done in (elsewhere, closed):
        assert done.returncode == 5
        assert done.stderr.startswith(("queue_not_found: ", "aws_error: ")), done.stderr
        assert len(done.stderr.splitlines()) == 2


def test_what_is_asked_at_a_terminal_is_answered_there_and_colours_are_shown(deployed: Deployed):
    declined = deployed.terminal("halt", "--reason", "bad deploy")
    declined.read_until("Halt the whole system? [y/N]")
    declined.type("n\n")
    assert declined.end() == 4

    accepted = deployed.terminal("halt", "--reason", "bad deploy")
    accepted.read_until("[y/N]")
    accepted.type("y\n")
    assert accepted.end() == 0

    shown = deployed.terminal("status")
    shown.read_until("\x1b[1;31mHALTED")
    assert shown.end() == 0
    assert "\x1b[1;31m" not in deployed.terminal("status", NO_COLOR="1").everything()
    assert deployed.leasehold("resume", "--reason", "mended").returncode == 0


def test_top_gives_the_terminal_back_on_ctrl_c(deployed: Deployed):
    top = deployed.terminal("top", "--interval", "1")
    top.read_until("the system is up")
    top.type("\x03")

    assert top.end() == 0
    assert top.seen.rstrip().endswith("\x1b[?1049l")


def test_whoever_reads_only_the_beginning_ends_the_listing_without_a_word(deployed: Deployed):
    deployed.leasehold("enqueue", "daily_summary", "--reason", "something to list")

    for command in (f"{LEASEHOLD} jobs --all | head -0", f"{LEASEHOLD} jobs --all --json | head -0"):
        done = execute({**AWS, **deployed.environment}, "bash", "-c", command)
        assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_local_aws_is_operated_with_one_option(local_stack: LocalStack):
    project = local_stack.project

    done = project.leasehold("status", "--local", "--json")
    job = ("daily_summary", "--payload", '{"user_id": "u1"}', "--in", "1h")
    made = project.leasehold("enqueue", *job, "--reason", "x", "--local")
    gone = project.leasehold("cancel", made.stdout.strip(), "--reason", "only a test", "--local")

    assert done.returncode == 0, done.stderr
    assert "daily_summary" in json.loads(done.stdout)["control"]["types"]
    assert gone.returncode == 0, gone.stderr
