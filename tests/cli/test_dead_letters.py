"""`leasehold dead-letters`: one, few or many; what would be done is seen before it is done."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from tests.cli.operators_shell import Works

if TYPE_CHECKING:
    from tests.cli.operators_shell import Shell

REASON = ("--reason", "mended")


@pytest.fixture
def dead(shell: Shell) -> list[str]:
    """Three dead letters, an hour between them, the last an hour ago."""
    ids = []
    for _ in range(3):
        ids.append(shell.dead_job())
        shell.test.clock.advance(timedelta(hours=1))
    return ids


def dead_letters(shell: Shell, *filters: str) -> list[str]:
    return [item["original_job_id"] for item in shell.json("dead-letters", "list", *filters)["items"]]


def test_open_dead_letters_are_listed_those_that_failed_last_first(shell: Shell, dead: list[str]):
    assert dead_letters(shell) == dead[::-1]
    assert dead_letters(shell, "--since", "90m") == dead[:1:-1]
    assert dead_letters(shell, "--until", "90m") == dead[1::-1]
    assert dead_letters(shell, "--type", "daily_summary") == []
    assert dead[0] in shell.ok("dead-letters", "list")


def test_a_dead_letter_is_shown_with_its_error(shell: Shell, dead: list[str]):
    assert "such user" in shell.ok("dead-letters", "show", dead[0])
    assert shell.json("dead-letters", "show", dead[0])["is_open"] is True


def test_one_dead_letter_is_redriven_without_a_question(shell: Shell, dead: list[str]):
    answer = shell.json("dead-letters", "redrive", dead[0], *REASON)

    assert shell.test.queue.get(answer["job_id"]).retry_of == dead[0]
    assert shell.asked == []
    assert shell.records(f"dead-letter#{dead[0]}") == ["redrive"]


def test_the_redrive_of_a_dead_letter_is_listed_among_what_was_done_to_its_job(shell: Shell, dead: list[str]):
    shell.ok("dead-letters", "redrive", dead[0], *REASON)

    (listed,) = shell.json("audit", "list", "--target", dead[0])["items"]

    assert (listed["action"], listed["target"]) == ("redrive", f"dead-letter#{dead[0]}")


def test_a_second_redrive_of_the_same_dead_letter_tells_the_same_job_and_leaves_no_record(
    shell: Shell, dead: list[str]
):
    first = shell.ok("dead-letters", "redrive", dead[0], *REASON)

    assert shell.ok("dead-letters", "redrive", dead[0], *REASON) == first
    assert shell.records(f"dead-letter#{dead[0]}") == ["redrive"]


def test_a_dry_run_shows_what_would_be_done_needs_no_reason_and_does_nothing(shell: Shell, dead: list[str]):
    text = shell.ok("dead-letters", "redrive", "--since", "150m", "--dry-run")
    answer = shell.json("dead-letters", "redrive", "--since", "150m", "--dry-run")

    assert text.splitlines()[-1] == "Would redrive 2 dead letters."
    assert answer == {"dry_run": True, "matching": 2, "dead_letter_ids": dead[1:]}
    assert dead_letters(shell) == dead[::-1]
    assert (shell.asked, shell.records()) == ([], [])


def test_many_dead_letters_are_redriven_after_a_look_and_a_confirmation(shell: Shell, dead: list[str]):
    shell.answers = [True]

    result = shell.run("dead-letters", "redrive", "--type", "user_sync", *REASON)

    assert result.exit_code == 0
    assert shell.asked == ["Redrive 3 dead letters?"]
    assert result.stdout.splitlines()[0].split()[:2] == ["job", "type"]
    assert result.stdout.endswith("Redriven: 3. Refused: 0.\n")
    assert dead_letters(shell) == []
    assert shell.records() == ["redrive"] * 3


def test_who_declines_changes_nothing(shell: Shell, dead: list[str]):
    shell.answers = [False]

    result = shell.run("dead-letters", "redrive", "--all", *REASON)

    assert result.exit_code == 4
    assert result.stderr.endswith("Nothing was done.\n")
    assert dead_letters(shell) == dead[::-1]


def test_a_script_says_yes_and_reads_what_became_of_each(shell: Shell, dead: list[str]):
    answer = shell.json("dead-letters", "redrive", "--all", "--limit", "2", "--yes", *REASON)

    assert (answer["redriven"], answer["refused"]) == (2, 0)
    assert [result["dead_letter_id"] for result in answer["results"]] == dead[:2]
    assert dead_letters(shell) == dead[2:]
    assert shell.asked == []


def test_what_cannot_be_redriven_does_not_stop_the_others_and_is_told(shell: Shell, dead: list[str]):
    shell.ok("job", "purge", dead[1], "--yes", "--reason", "forget me")

    result = shell.run("dead-letters", "redrive", "--all", "--yes", *REASON)

    assert result.exit_code == 4
    assert result.stdout == "Redriven: 2. Refused: 1.\n"
    assert result.stderr.startswith(f"{dead[1]}: wrong_state: ")


def test_several_dead_letters_are_redriven_by_name(shell: Shell, dead: list[str]):
    shell.ok("dead-letters", "discard", dead[0], "--reason", "unwanted")

    result = shell.run("dead-letters", "redrive", dead[0], dead[1], *REASON)

    assert result.exit_code == 4
    assert result.stdout == "Redriven: 1. Refused: 1.\n"


def test_a_discarded_dead_letter_is_resolved_and_cannot_be_discarded_again(shell: Shell, dead: list[str]):
    assert shell.json("dead-letters", "discard", dead[0], *REASON)["resolution"] == "discarded"

    again = shell.run("dead-letters", "discard", dead[0], *REASON)

    assert again.exit_code == 4
    assert again.stderr.startswith("wrong_state: ")
    assert shell.records(f"dead-letter#{dead[0]}") == ["discard"]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        ([*REASON], 2, "Pass ids, or --type"),
        (["--all", "--limit", "0", *REASON], 2, "at least 1"),
        (["019b76da-a800-8000-8000-000000000000", "--all", *REASON], 2, "named or filtered"),
        (["019b76da-a800-8000-8000-000000000000", *REASON], 3, "there is no dead letter"),
        (["nonsense", *REASON], 2, "invalid_job_id"),
        (["--type", "No Type", *REASON], 2, "invalid_job_type"),
    ],
)
def test_what_is_not_said_clearly_is_not_done(
    shell: Shell, dead: list[str], arguments: list[str], exit_code: int, words: str
):
    dead_before = dead_letters(shell)

    result = shell.run("dead-letters", "redrive", *arguments)

    assert result.exit_code == exit_code
    assert words in result.stderr
    assert dead_letters(shell) == dead_before


def test_what_is_redriven_runs(shell: Shell, dead: list[str]):
    shell.test.register("user_sync", Works)
    shell.ok("dead-letters", "redrive", "--all", "--yes", *REASON)

    assert shell.test.drain()["completed"] == 3


def test_show_tells_the_error_of_each_run(shell: Shell):
    job_id = shell.dead_job()

    runs = shell.ok("dead-letters", "show", job_id).rpartition("\nruns\n")[2]

    assert "NonRetryableError: no " in runs


def test_a_dead_letter_is_redriven_with_another_payload_and_its_job_shows_who_did_and_why(
    shell: Shell, dead: list[str]
):
    answer = shell.json("dead-letters", "redrive", dead[0], "--payload", '{"user": "grace"}', *REASON)

    assert shell.test.queue.get(answer["job_id"]).payload == {"user": "grace"}
    shown = shell.ok("job", dead[0])
    assert answer["job_id"] in shown
    assert "mended" in shown
    record = shell.json("audit", "list", "--target", dead[0])["items"][0]
    assert json.loads(record["details"])["payload_changes"] == ["replace /user"]


def test_a_payload_is_for_one_dead_letter_that_is_named(shell: Shell, dead: list[str]):
    for arguments in ([*dead[:2]], ["--all"]):
        result = shell.run("dead-letters", "redrive", *arguments, "--payload", "{}", *REASON)
        assert result.exit_code == 2
    assert dead_letters(shell) == dead[::-1]
