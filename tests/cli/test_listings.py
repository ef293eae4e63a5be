"""`leasehold jobs` and what all listings share: filters, pages, JSON, and what is said beside the answer."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.operators_shell import Shell


def test_jobs_are_listed_the_newest_first_with_their_ids_whole(shell: Shell):
    first, second = shell.enqueue(), shell.enqueue(run_in=timedelta(hours=1))

    lines = shell.ok("jobs").splitlines()

    assert lines[0].split()[:3] == ["job", "type", "status"]
    assert [line.split()[:3] for line in lines[1:]] == [
        [second, "daily_summary", "pending"],
        [first, "daily_summary", "pending"],
    ]


def test_for_programs_a_listing_is_one_document_like_that_of_the_admin_service(shell: Shell):
    job_id = shell.enqueue(dedup_key="ada")

    page = shell.json("jobs")

    (item,) = page["items"]
    assert (item["job_id"], item["status"], item["dedup_key"]) == (job_id, "pending", "ada")
    assert "cursor" not in page
    assert page["order"] == "scheduled_for"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["--type", "user_sync"], {"dead"}),
        (["--status", "pending"], {"waiting"}),
        (["--status", "dead_letter", "--status", "completed"], {"dead", "done"}),
        (["--key", "eve"], {"waiting"}),
        (["--since", "30m"], {"waiting"}),
        (["--until", "30m"], {"dead", "done"}),
        (["--ended-since", "2h"], {"dead", "done"}),
        (["--since", "2026-01-01T00:30Z", "--until", "2026-01-02"], {"waiting"}),
    ],
)
def test_each_filter_keeps_what_it_says(shell: Shell, filters: list[str], expected: set[str]):
    ids = {"dead": shell.dead_job(), "done": shell.done_job()}
    shell.test.clock.advance(timedelta(hours=1))
    ids["waiting"] = shell.enqueue(dedup_key="eve")

    found = {item["job_id"] for item in shell.json("jobs", *filters)["items"]}

    assert found == {ids[name] for name in expected}


def test_a_limit_leaves_the_rest_to_a_cursor_and_says_so_beside_the_answer(shell: Shell):
    ids = [shell.enqueue(run_in=timedelta(minutes=number)) for number in range(5)]

    result = shell.run("jobs", "--limit", "3")
    page = shell.json("jobs", "--limit", "3")
    rest = shell.json("jobs", "--limit", "3", "--cursor", page["cursor"])

    assert len(result.stdout.splitlines()) == 4
    assert f"--cursor {page['cursor']}" in result.stderr
    assert [item["job_id"] for item in page["items"] + rest["items"]] == ids[::-1]
    assert "cursor" not in rest


def test_a_limit_above_the_size_of_a_page_is_reached_with_several(shell: Shell):
    for number in range(130):
        shell.enqueue(run_in=timedelta(minutes=number))

    assert len(shell.json("jobs", "--limit", "120")["items"]) == 120


def test_all_of_them_come_one_a_line_for_programs_and_in_one_table_for_people(shell: Shell):
    ids = [shell.enqueue(run_in=timedelta(minutes=number)) for number in range(130)]

    lines = shell.ok("jobs", "--all", "--json").splitlines()
    table = shell.ok("jobs", "--all").splitlines()

    assert [json.loads(line)["job_id"] for line in lines] == ids[::-1]
    assert [line.split()[0] for line in table[1:]] == ids[::-1]


def test_where_nothing_is_found_the_answer_is_empty_and_people_are_told(shell: Shell):
    result = shell.run("jobs", "--type", "user_sync")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "Nothing was found.\n")
    assert shell.json("jobs")["items"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--status", "queued"], "invalid_option", "Use some of pending"),
        (["--type", "No Type"], "invalid_job_type", "1 to 64 characters"),
        (["--since", "yesterday"], "invalid_option", "how long ago: 30m, 2h, 7d"),
        (["--since", "1h", "--until", "2h"], "invalid_option", "Exchange them"),
        (["--cursor", "nonsense"], "invalid_cursor", "none for its beginning"),
        (["--limit", "0"], "invalid_option", "1 to 100"),
        (["--key", "a#b"], "invalid_key", "without '#'"),
    ],
)
def test_a_bad_filter_is_refused_in_the_words_of_the_domain(shell: Shell, arguments: list[str], code: str, words: str):
    result = shell.run("jobs", *arguments)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"{code}: ")
    assert words in result.stderr


def test_a_cursor_of_another_listing_is_refused(shell: Shell):
    for number in range(3):
        shell.enqueue(run_in=timedelta(minutes=number))
    cursor = shell.json("jobs", "--limit", "1")["cursor"]

    result = shell.run("jobs", "--type", "daily_summary", "--cursor", cursor)

    assert result.exit_code == 2
    assert "belongs to another listing" in result.stderr


@pytest.mark.parametrize("listing", [("jobs",), ("dead-letters", "list")])
def test_a_type_that_never_was_is_told_and_not_an_empty_list(shell: Shell, listing: tuple[str, ...]):
    result = shell.run(*listing, "--type", "daily_sumary")

    assert (result.exit_code, result.stdout) == (3, "")
    assert "daily_sumary" in result.stderr
    assert "daily_summary" in result.stderr


def test_jobs_of_a_type_that_is_not_deployed_any_more_are_listed(shell: Shell):
    job_id = shell.enqueue("user_sync")
    registry = shell.test.services.deployment.registry()
    left = {name: each for name, each in registry.types.items() if name != "user_sync"}
    shell.test.operator.publish(replace(registry, types=left))

    assert job_id in shell.ok("jobs", "--type", "user_sync")
