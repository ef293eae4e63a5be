"""`leasehold schedules`: recurring jobs from the command line."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.operators_shell import Shell

REASON = ("--reason", "asked for")
NIGHTLY = ("schedules", "create", "nightly", "--type", "daily_summary", "--cron", "0 3 * * *")


@pytest.fixture
def nightly(shell: Shell) -> str:
    shell.ok(*NIGHTLY, *REASON)
    return "nightly"


def test_a_schedule_is_made_shown_and_listed(shell: Shell):
    made = shell.json(*NIGHTLY, "--timezone", "Europe/Berlin", "--missed", "all", "--missed-window", "2d", *REASON)

    assert (made["cron"], made["timezone"], made["missed_window"]) == ("0 3 * * *", "Europe/Berlin", 172800.0)
    assert made["next_runs"][0] == "2026-01-01T02:00:00.000Z"
    assert len(shell.json("schedules", "show", "nightly", "--next", "10")["next_runs"]) == 10
    assert "missed_window   2d" in shell.ok("schedules", "show", "nightly")
    (listed,) = shell.json("schedules", "list")["items"]
    assert listed["name"] == "nightly"
    assert "0 3 * * * Europe/Berlin" in shell.ok("schedules", "list")


def test_a_rate_is_a_schedule_too(shell: Shell):
    made = shell.json("schedules", "create", "sync", "--type", "user_sync", "--every", "30m", *REASON)

    assert made["every"] == 1800.0
    assert "every 30m" in shell.ok("schedules", "list")


def test_an_update_changes_what_is_passed_and_leaves_the_rest(shell: Shell, nightly: str):
    changed = shell.json("schedules", "update", nightly, "--cron", "0 4 * * *", "--priority", "low", *REASON)

    assert (changed["cron"], changed["priority"], changed["job_type"]) == ("0 4 * * *", 0, "daily_summary")
    assert shell.json("schedules", "update", nightly, "--disabled", *REASON)["enabled"] is False


def test_a_schedule_is_paused_resumed_and_deleted(shell: Shell, nightly: str):
    assert shell.json("schedules", "pause", nightly, *REASON)["next_runs"] == []
    assert "paused" in shell.ok("schedules", "list")
    assert shell.json("schedules", "resume", nightly, *REASON)["is_active"] is True
    assert shell.json("schedules", "delete", nightly, *REASON) == {"name": nightly, "deleted": True}
    assert shell.run("schedules", "show", nightly).exit_code == 3
    assert shell.records(f"schedule#{nightly}") == ["create", "pause", "resume", "delete"]


def test_a_trigger_makes_one_job_a_minute_and_one_record(shell: Shell, nightly: str):
    first, second = (shell.ok("schedules", "trigger", nightly, *REASON) for _ in range(2))

    assert first == second
    assert shell.test.queue.get(first.strip()).schedule == nightly
    assert shell.records(f"schedule#{nightly}") == ["create", "trigger"]


def test_a_backfill_is_seen_before_it_is_done_and_done_once(shell: Shell, nightly: str):
    look = shell.json("schedules", "backfill", nightly, "--from", "3d", "--dry-run")
    assert (look["missing"], look["slots"][0]) == (3, "2025-12-29T03:00:00.000Z")
    assert "Slots without a job: 3" in shell.ok("schedules", "backfill", nightly, "--from", "3d", "--dry-run")
    assert shell.test.jobs() == []

    shell.answers = [True]
    assert shell.ok("schedules", "backfill", nightly, "--from", "3d", *REASON) == "Made 3 jobs.\n"
    assert shell.asked == ["Make 3 jobs of nightly?"]
    assert shell.ok("schedules", "backfill", nightly, "--from", "3d", *REASON) == "Every slot has its job.\n"
    assert shell.records(f"schedule#{nightly}") == ["create", *["backfill"] * 3]


def test_a_backfill_makes_only_what_is_missing(shell: Shell, nightly: str):
    shell.ok("schedules", "backfill", nightly, "--from", "2d", "--yes", *REASON)

    answer = shell.json("schedules", "backfill", nightly, "--from", "4d", "--to", "1d", "--yes", *REASON)

    assert answer["made"] == 2
    assert len(shell.test.jobs()) == 4


def test_who_declines_a_backfill_makes_nothing(shell: Shell, nightly: str):
    shell.answers = [False]

    assert shell.run("schedules", "backfill", nightly, "--from", "3d", *REASON).exit_code == 4
    assert shell.test.jobs() == []


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["show", "none"], 3, "schedule_not_found"),
        (["pause", "none", *REASON], 3, "schedule_not_found"),
        (["trigger", "none", *REASON], 3, "schedule_not_found"),
        (["create", "nightly", "--type", "daily_summary", "--every", "1h", *REASON], 4, "schedule_exists"),
        (["create", "x", "--type", "daily_summary", *REASON], 2, "invalid_option"),
        (["create", "x", "--type", "daily_summary", "--cron", "every day", *REASON], 2, "invalid_option"),
        (["create", "x", "--type", "daily_summary", "--every", "often", *REASON], 2, "invalid_option"),
        (["create", "x", "--type", "no_such_type", "--every", "1h", *REASON], 3, "unknown_job_type"),
        (["backfill", "nightly", "--from", "last week", "--dry-run"], 2, "invalid_option"),
        (["show", "nightly", "--next", "1000"], 2, "invalid_option"),
    ],
)
def test_what_cannot_be_is_refused(shell: Shell, nightly: str, arguments: list[str], exit_code: int, code: str):
    result = shell.run("schedules", *arguments)

    assert (result.exit_code, result.stderr.partition(":")[0]) == (exit_code, code)


def test_what_is_overdue_is_not_lost_by_looking(shell: Shell, nightly: str):
    shell.test.clock.advance(timedelta(days=2))
    shell.ok("schedules", "list")

    assert shell.test.drain()["completed"] == 1
