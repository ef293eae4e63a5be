"""Which queue a command is about, and how little it loads before it knows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from leasehold.aws.discovery import QueueNotFoundError
from leasehold.cli.options import complete_job_type, complete_priority, complete_status
from leasehold.cli.session import Session, SharedOptions
from leasehold.kernel.errors import InvalidOptionError, ServerUnavailableError
from tests.test_imports import imported_by

if TYPE_CHECKING:
    from tests.cli.operators_shell import Shell

PROJECT = Path(__file__).parents[2]


def test_the_options_of_the_aws_cli_say_how_to_connect(shell: Shell):
    options = ["--queue", "prod", "--profile", "ops", "--region", "eu-central-1", "--endpoint-url", "http://x"]
    shell.ok("jobs", *options)

    (connection,) = shell.connections
    assert connection == SharedOptions(queue_name="prod", profile="ops", region="eu-central-1", endpoint_url="http://x")


def test_variables_name_the_queue_and_options_win_over_them(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.setenv("LEASEHOLD_QUEUE", "dev")
    monkeypatch.setenv("LEASEHOLD_JOBS_TABLE", "my-jobs")
    shell.ok("jobs")
    shell.ok("jobs", "--queue", "prod", "--jobs-table", "your-jobs", "--dead-letters-table", "your-letters")

    assert shell.connections == [
        SharedOptions(queue_name="dev", jobs_table="my-jobs"),
        SharedOptions(queue_name="prod", jobs_table="your-jobs", dead_letters_table="your-letters"),
    ]
    assert shell.connections[1].tables() == ("your-jobs", "your-letters")


@mock_aws
def test_a_deployed_queue_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    names = {"jobs_table": "stack-Jobs-1", "dead_letters_table": "stack-DeadLetters-1"}
    boto3.client("ssm").put_parameter(Name="/leasehold/prod", Value=json.dumps(names), Type="String")

    assert SharedOptions(queue_name="prod").tables() == ("stack-Jobs-1", "stack-DeadLetters-1")
    assert SharedOptions(queue_name="prod", jobs_table="mine").tables() == ("mine", "stack-DeadLetters-1")
    with pytest.raises(QueueNotFoundError, match=r"no queue 'staging' .* nothing published /leasehold/staging"):
        SharedOptions(queue_name="staging").tables()


def test_region_and_local_aws_are_named_by_variables_too_and_options_win(shell: Shell, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    monkeypatch.setenv("LEASEHOLD_LOCAL", "1")
    shell.ok("jobs")
    shell.ok("jobs", "--no-local", "--queue", "prod", "--region", "eu-central-1")

    assert shell.connections == [
        SharedOptions(region="eu-north-1", is_local=True),
        SharedOptions(queue_name="prod", region="eu-central-1"),
    ]


@pytest.mark.parametrize("given", [{}, {"jobs_table": "jobs"}, {"queue_name": ""}])
def test_a_queue_that_is_not_named_is_asked_for(given: dict[str, Any]):
    with pytest.raises(InvalidOptionError, match="Pass --queue dev"):
        Session(SharedOptions(**given)).admin  # noqa: B018  asking for it opens it


def test_a_local_aws_that_does_not_run_is_said(tmp_path: Path):
    (tmp_path / "cdk.json").write_text("{}")
    with pytest.raises(ServerUnavailableError, match="leasehold local deploy"):
        Session(SharedOptions(is_local=True, root=tmp_path)).admin  # noqa: B018  asking for it opens it


def test_all_commands_are_known_without_the_aws_client_or_a_table_of_any_kind():
    assert imported_by("leasehold.cli.commands") <= {"typer", "rich"}


@pytest.mark.parametrize("room", ["kernel", "limits", "schedules", "groups", "operate", "queue", "aws", "admin"])
def test_help_loads_nothing_of_the_library_below_the_commands(room: str):
    script = (
        "import sys\nfrom leasehold.cli.commands import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        f"print([name for name in sys.modules if name.split('.')[:2] == ['leasehold', {room!r}]], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=50)

    assert done.stderr.strip() == "[]"


def test_job_types_statuses_and_priorities_are_completed_without_a_table(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(PROJECT)

    assert "daily_summary" in complete_job_type("")
    assert complete_job_type("daily_s") == ["daily_summary"]
    assert complete_job_type("../") == []
    assert complete_status("c") == ["completed", "cancelled"]
    assert complete_priority("h") == ["high"]


def test_the_shell_completes_commands_and_job_types():
    def complete(words: str) -> list[str]:
        environment = {"_LEASEHOLD_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "2", "HOME": "/tmp"}
        done = subprocess.run(
            [str(Path(sys.executable).parent / "leasehold")],
            env=environment,
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=False,
            timeout=50,
        )
        return done.stdout.split()

    assert complete("leasehold dead-letters re") == ["redrive"]
    assert complete("leasehold pause daily_s") == ["daily_summary"]
