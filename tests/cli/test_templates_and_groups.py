"""`leasehold templates` and `leasehold groups`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold import NewJob

if TYPE_CHECKING:
    from tests.cli.operators_shell import Shell

REASON = ("--reason", "asked for")


@pytest.fixture
def weekly(shell: Shell) -> str:
    options = ["--payload", '{"style": "long"}', "--priority", "high", "--retry-delays", "1m"]
    shell.ok("templates", "create", "weekly", "daily_summary", *options, "--description", "on Fridays", *REASON)
    return "weekly"


@pytest.fixture
def group(shell: Shell) -> str:
    jobs = [NewJob(job="daily_summary", payload={"n": number}) for number in range(3)]
    return shell.test.queue.groups.create(jobs, group_id="import-1").group_id


def test_a_template_is_shown_listed_changed_and_deleted(shell: Shell, weekly: str):
    shown = shell.json("templates", "show", weekly)
    assert (shown["payload"], shown["priority"], shown["retry"]["delays"]) == ({"style": "long"}, 2, [60.0])
    assert '"style": "long"' in shell.ok("templates", "show", weekly)
    assert "on Fridays" in shell.ok("templates", "list")
    assert [item["name"] for item in shell.json("templates", "list")["items"]] == [weekly]

    changed = shell.json("templates", "update", weekly, "--max-attempts", "2", "--remove", "priority", *REASON)
    assert changed["max_attempts"] == 2
    assert "priority" not in changed
    assert shell.ok("templates", "delete", weekly, *REASON) == "weekly is deleted\n"
    assert shell.run("templates", "show", weekly).exit_code == 3
    assert shell.records("template#weekly") == ["create", "update", "delete"]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["show", "weakly"], 3, "unknown_template"),
        (["create", "weekly", "daily_summary", *REASON], 4, "template_exists"),
        (["create", "x", "no_such_type", *REASON], 3, "unknown_job_type"),
        (["create", "x", "daily_summary", "--payload", "[1]", *REASON], 2, "invalid_payload"),
        (["create", "x", "daily_summary", "--retry-delays", "10", *REASON], 2, "invalid_option"),
        (["update", "weekly", "--remove", "name", *REASON], 2, "invalid_option"),
    ],
)
def test_a_template_that_cannot_be_is_refused(
    shell: Shell, weekly: str, arguments: list[str], exit_code: int, code: str
):
    result = shell.run("templates", *arguments)

    assert (result.exit_code, result.stderr.partition(":")[0]) == (exit_code, code)
    assert shell.records("template#weekly") == ["create"]


def test_a_group_is_listed_and_shown_with_its_members(shell: Shell, group: str):
    shell.test.drain()

    shown = shell.json("groups", "show", group)
    assert (shown["state"], shown["completed"], shown["left"]) == ("completed", 3, 0)
    assert "3/3" in shell.ok("groups", "list")
    assert [item["group_id"] for item in shell.json("groups", "list")["items"]] == [group]
    assert len(shell.json("groups", "members", group)["items"]) == 3
    assert "completed" in shell.ok("groups", "members", group)
    assert "state" in shell.ok("groups", "show", group)


def test_a_group_is_cancelled_after_a_confirmation(shell: Shell, group: str):
    shell.answers = [False, True]

    assert shell.run("groups", "cancel", group, *REASON).exit_code == 4
    assert shell.records() == []
    assert shell.json("groups", "cancel", group, *REASON)["state"] == "cancelling"
    assert shell.asked == ["Cancel the 3 members of import-1 that have not ended?"] * 2
    shell.test.drain()
    assert shell.json("groups", "show", group)["cancelled"] == 3
    assert shell.records("group#import-1") == ["cancel"]


def test_an_ended_group_is_not_cancelled_and_an_unknown_one_is_not_there(shell: Shell, group: str):
    shell.test.drain()

    ended = shell.run("groups", "cancel", group, *REASON)
    assert (ended.exit_code, ended.stderr.partition(":")[0]) == (4, "group_ended")
    assert shell.run("groups", "show", "none").exit_code == 3
    assert shell.run("groups", "members", "none").exit_code == 3
    assert shell.run("groups", "show", "no#group").exit_code == 2
