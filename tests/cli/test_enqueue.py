"""`leasehold enqueue`: a job from the command line is the same as one from the SDK, and on record."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import Delays, Priority
from tests.cli.operators_shell import ACTOR

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.operators_shell import Shell

REASON = ("--reason", "asked for")


def test_a_job_is_made_and_its_id_is_the_whole_answer(shell: Shell):
    job_id = shell.ok("enqueue", "daily_summary", "--payload", '{"user": "eve"}', *REASON).strip()

    job = shell.test.queue.get(job_id)
    assert (job.payload, job.created_by, job.job_type) == ({"user": "eve"}, ACTOR, "daily_summary")
    assert shell.records(f"job#{job_id}") == ["create"]


def test_every_option_reaches_the_job(shell: Shell):
    options = [
        *("--in", "2h", "--start-by", "2026-02-01", "--dedup-key", "k", "--dedup-window", "day:Europe/Berlin"),
        *("--priority", "critical", "--max-attempts", "3", "--retry-delays", "10s,5m", "--concurrency-key", "c"),
    ]
    job = shell.test.queue.get(shell.json("enqueue", "daily_summary", *options, *REASON)["job_id"])

    assert job.scheduled_for == shell.test.clock.now() + timedelta(hours=2)
    assert job.start_by == datetime(2026, 2, 1, tzinfo=UTC)
    assert job.dedup is not None
    assert (job.dedup.key, job.dedup.window) == ("k", "2026-01-01")
    assert (job.priority, job.max_attempts, job.concurrency_key) == (Priority.CRITICAL, 3, "c")
    assert job.retry == Delays((timedelta(seconds=10), timedelta(minutes=5)))


def test_a_payload_comes_from_a_file_or_from_the_standard_input(shell: Shell, tmp_path: Path):
    (tmp_path / "payload.json").write_text('{"from": "file"}')

    by_file = shell.ok("enqueue", "daily_summary", "--payload-file", str(tmp_path / "payload.json"), *REASON)
    piped = shell.ok("enqueue", "daily_summary", "--payload-file", "-", *REASON, stdin='{"from": "pipe"}')

    assert shell.test.queue.get(by_file.strip()).payload == {"from": "file"}
    assert shell.test.queue.get(piped.strip()).payload == {"from": "pipe"}


def test_a_template_brings_the_type_along(shell: Shell):
    shell.ok("templates", "create", "nightly", "daily_summary", "--payload", '{"style": "long"}', *REASON)

    job_id = shell.ok("enqueue", "--template", "nightly", "--payload", '{"user": "eve"}', *REASON).strip()

    assert shell.test.queue.get(job_id).payload == {"style": "long", "user": "eve"}


def test_a_taken_dedup_key_answers_with_the_job_that_holds_it_and_leaves_no_record(shell: Shell):
    first = shell.json("enqueue", "daily_summary", "--dedup-key", "k", *REASON)

    again = shell.run("enqueue", "daily_summary", "--dedup-key", "k", *REASON)
    refused = shell.run("enqueue", "daily_summary", "--dedup-key", "k", "--on-duplicate", "raise", *REASON)
    replaced = shell.json("enqueue", "daily_summary", "--dedup-key", "k", "--on-duplicate", "replace", *REASON)

    assert (again.exit_code, again.stdout) == (0, f"{first['job_id']}\n")
    assert "this is the job that holds it" in again.stderr
    assert refused.exit_code == 4
    assert refused.stderr.startswith("duplicate_job: ")
    assert replaced["replaced"] == first["job_id"]
    assert shell.records() == ["create", "create"]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["no_such_type"], 3, "unknown_job_type"),
        (["--template", "none"], 3, "unknown_template"),
        (["daily_summary", "--payload", "{user: ada}"], 2, "invalid_option"),
        (["daily_summary", "--payload", "{}", "--payload-file", "x"], 2, "invalid_option"),
        (["daily_summary", "--payload-file", "/no/such/file"], 2, "invalid_option"),
        (["daily_summary", "--in", "soon"], 2, "invalid_option"),
        (["daily_summary", "--at", "tomorrow"], 2, "invalid_option"),
        (["daily_summary", "--at", "2026-01-02", "--in", "1h"], 2, "invalid_option"),
        (["daily_summary", "--priority", "urgent"], 2, "invalid_option"),
        (["daily_summary", "--on-duplicate", "ignore"], 2, "invalid_option"),
        (["daily_summary", "--dedup-window", "day"], 2, "invalid_option"),
        (["daily_summary", "--max-attempts", "0"], 2, "invalid_option"),
        (["daily_summary", "--max-attempts", "many"], 2, "usage"),
        ([], 2, "invalid_job_type"),
    ],
)
def test_what_cannot_be_accepted_makes_no_job(shell: Shell, arguments: list[str], exit_code: int, code: str):
    result = shell.run("enqueue", *arguments, *REASON, "--json")

    error = json.loads(result.stderr)["error"]
    assert (result.exit_code, error["code"], error["exit_code"]) == (exit_code, code, exit_code)
    assert result.stdout == ""
    assert shell.test.jobs() == []


def test_while_the_system_is_halted_nothing_is_enqueued(shell: Shell):
    shell.ok("halt", "--yes", "--reason", "bad deploy")

    result = shell.run("enqueue", "daily_summary", *REASON)

    assert result.exit_code == 4
    assert result.stderr.startswith("system_halted: ")
    assert "leasehold resume" in result.stderr


@pytest.mark.parametrize(
    "made_by",
    [
        ["enqueue", "daily_summary"],
        ["schedules", "create", "nightly", "--type", "daily_summary", "--every", "1h"],
        ["templates", "create", "short", "daily_summary"],
    ],
)
@pytest.mark.parametrize("written", ["high", "HIGH", "2"])
def test_a_priority_is_a_word_or_its_number_wherever_it_is_given(shell: Shell, made_by: list[str], written: str):
    shell.ok(*made_by, "--priority", written)

    result = shell.run(*made_by, "--priority", "urgent")
    assert result.exit_code == 2
    assert "this is no priority: got 'urgent'. Use low, normal, high or critical." in result.stderr
