"""How commands end when they cannot do what they are asked: exit codes, one line, what to do next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, NoRegionError, ProfileNotFound

from leasehold.cli.exits import exit_code_of
from leasehold.cli.session import Session, SharedOptions
from leasehold.kernel import errors
from tests.worlds import require_reasons

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.operators_shell import Shell

NOT_FOUND = {
    "JobNotFoundError",
    "ScheduleNotFoundError",
    "GroupNotFoundError",
    "UnknownTemplateError",
    "UnknownJobTypeError",
}
UNAVAILABLE = {
    "NotDeployedError",
    "QueueNotFoundError",
    "IdentityUnknownError",
    "ServerUnavailableError",
    "DispatchError",
}


def tree(kind: type[errors.LeaseholdError] = errors.LeaseholdError) -> Iterator[type[errors.LeaseholdError]]:
    for each in kind.__subclasses__():
        yield each
        yield from tree(each)


@pytest.mark.parametrize("kind", sorted({each for each in tree() if each.__module__.startswith("leasehold.")}, key=str))
def test_every_error_of_the_tree_has_the_exit_code_of_its_kind(kind: type[errors.LeaseholdError]):
    if kind.__name__ in NOT_FOUND:
        expected = 3
    elif kind.__name__ in UNAVAILABLE or issubclass(kind, errors.StoreError):
        expected = 5
    else:
        expected = 2 if issubclass(kind, errors.InvalidInputError) else 4

    assert exit_code_of(kind.__new__(kind)) == expected


@pytest.mark.parametrize(
    "error",
    [
        NoCredentialsError(),
        NoRegionError(),
        ProfileNotFound(profile="nope"),
        EndpointConnectionError(endpoint_url="http://127.0.0.1:1"),
        ClientError({"Error": {"Code": "ExpiredToken", "Message": "expired"}}, "GetCallerIdentity"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_aws_says_is_told_in_a_line_with_what_to_check(shell: Shell, error: Exception):
    shell.failure = error

    result = shell.run("status")

    assert result.exit_code == 5
    first, second = result.stderr.splitlines()
    assert first.startswith("aws_error: ")
    assert "--profile" in second
    assert "Traceback" not in result.output


def test_a_mistake_of_ours_is_a_line_too_and_shows_where_it_happened_on_request(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
):
    shell.failure = ZeroDivisionError("oh")

    result = shell.run("status")
    assert result.exit_code == 1
    assert result.stderr.startswith("unexpected_error: ZeroDivisionError: oh\nnext: ")

    monkeypatch.setenv("LEASEHOLD_DEBUG", "1")
    assert isinstance(shell.run("status").exception, ZeroDivisionError)


def test_for_programs_an_error_is_json_on_the_standard_error(shell: Shell):
    shell.failure = errors.StoreUnavailableError("table 'jobs' cannot be reached")

    result = shell.run("status", "--json")

    assert result.stdout == ""
    assert json.loads(result.stderr) == {
        "error": {
            "code": "store_unavailable",
            "message": "table 'jobs' cannot be reached",
            "exit_code": 5,
            "next": "check the credentials (--profile), --region and --endpoint-url, then try again",
        }
    }


def test_ctrl_c_ends_with_130_and_without_a_word(shell: Shell):
    shell.failure = KeyboardInterrupt()

    result = shell.run("status")

    assert (result.exit_code, result.output) == (130, "")


def test_an_error_cannot_speak_to_the_terminal(shell: Shell):
    shell.failure = errors.StoreError("\x1b]0;owned\x07")

    assert "\x1b" not in shell.run("status").stderr


def test_a_cancel_of_nothing_says_what_is_missing(shell: Shell):
    assert "jobs are named or filtered" in shell.run("cancel").stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["jbos"], "Did you mean 'jobs'?"),
        (["job", "prioritee"], "Did you mean 'priority'?"),
        (["dead-letters", "redrvie"], "Did you mean 'redrive'?"),
        (["jobs", "--stauts", "failed"], "--status"),
        (["retry"], "JOB_ID"),
        (["schedules", "backfill", "x"], "--from"),
    ],
)
def test_what_was_mistyped_is_answered_with_what_was_meant(shell: Shell, arguments: list[str], words: str):
    result, document = shell.run(*arguments), shell.run(*arguments, "--json")

    assert (result.exit_code, result.stdout) == (2, "")
    line, help_line = result.stderr.splitlines()
    assert line.startswith("usage: ")
    assert words in line
    assert help_line.startswith("next: ")
    assert help_line.endswith("--help")
    assert json.loads(document.stderr)["error"]["code"] == "usage"


def test_where_nobody_can_be_asked_a_bulk_change_wants_a_yes():
    with pytest.raises(errors.InvalidOptionError, match="Pass --yes"):
        Session(SharedOptions()).ask("Halt the whole system?")


@pytest.mark.parametrize("command", [["jobs"], ["status"], ["halt", "--yes", "--reason", "x"]])
def test_a_reason_of_nothing_or_a_missing_queue_is_no_traceback(shell: Shell, command: list[str]):
    shell.failure = errors.NotDeployedError("leasehold-dev-jobs")

    result = shell.run(*command)

    assert result.exit_code == 5
    assert "next: check --queue" in result.stderr


_ACTIONS = (
    ["cancel", "JOB"],
    ["halt", "--yes"],
    ["pause", "user_sync"],
    ["schedules", "create", "hourly", "--type", "user_sync", "--every", "1h"],
)


@pytest.mark.parametrize("action", _ACTIONS, ids=" ".join)
def test_a_reason_may_be_left_out_and_the_record_says_so(shell: Shell, action: list[str]):
    job_id = shell.enqueue()

    shell.ok(*[job_id if each == "JOB" else each for each in action])

    assert [each.audit_entry.reason for each in shell.admin.audit.records(limit=9).items] == ["no reason given"]


@pytest.mark.parametrize("action", _ACTIONS, ids=" ".join)
def test_a_reason_is_needed_where_the_deployment_asks_for_one(shell: Shell, action: list[str]):
    job_id = shell.enqueue()
    require_reasons(shell.test.services)

    result = shell.run(*[job_id if each == "JOB" else each for each in action])

    assert (result.exit_code, shell.records()) == (2, [])
    assert "this queue asks for a reason" in result.stderr
    assert "--reason" in result.stderr


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["jobs"], "--since"),
        (["jobs"], "--created-until"),
        (["jobs"], "--ended-since"),
        (["cancel"], "--until"),
        (["dead-letters", "list"], "--since"),
        (["enqueue", "daily_summary"], "--at"),
        (["enqueue", "daily_summary"], "--in"),
        (["enqueue", "daily_summary"], "--start-by"),
        (["enqueue", "daily_summary"], "--retry-delays"),
        (["enqueue", "daily_summary"], "--dedup-window"),
        (["enqueue", "daily_summary"], "--on-duplicate"),
        (["job", "reschedule", "J"], "--in"),
        (["schedules", "create", "n", "--type", "daily_summary"], "--every"),
        (["schedules", "update", "n"], "--missed-window"),
        (["templates", "create", "t", "daily_summary"], "--retry-delays"),
    ],
)
def test_a_value_that_cannot_be_read_is_told_with_the_option_as_it_was_typed(
    shell: Shell, command: list[str], option: str
):
    result = shell.run(*command, option, "x")

    assert result.exit_code == 2
    assert f"{option} " in result.stderr
    assert "got 'x'" in result.stderr
