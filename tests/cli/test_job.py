"""`leasehold job`, `cancel` and `retry`: one job seen and changed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import JobStatus, Priority

if TYPE_CHECKING:
    from tests.cli.operators_shell import Shell

HOUR = timedelta(hours=1)
UNKNOWN = "019b76da-a800-8000-8000-000000000000"


def test_a_job_is_shown_whole_by_its_id_alone(shell: Shell):
    job_id = shell.done_job()

    text = shell.ok("job", job_id)

    assert text == shell.ok("job", "show", job_id)
    for words in (job_id, "completed", '"user": "ada"', '"done": "yes"', "timeline"):
        assert words in text


def test_for_programs_a_job_is_the_document_of_the_api(shell: Shell):
    document = shell.json("job", shell.dead_job())

    assert (document["status"], document["payload"]) == ("dead_letter", {"user": "ada"})
    assert document["dead_letter"]["is_open"] is True
    assert [run["status"] for run in document["runs"]] == ["FAILED"]


def test_what_a_job_says_of_itself_cannot_speak_to_the_terminal(shell: Shell):
    text = shell.ok("job", shell.dead_job())

    assert "\x1b" not in text
    assert r"no \x1b[2Jsuch user" in text


def test_a_waiting_job_is_cancelled(shell: Shell):
    job_id = shell.enqueue(run_in=HOUR)

    assert shell.ok("cancel", job_id, "--reason", "withdrawn") == f"{job_id} is cancelled\n"
    assert shell.test.queue.get(job_id).cancel_reason == "withdrawn"


def test_an_ended_job_is_run_again_as_a_new_one(shell: Shell):
    job_id = shell.done_job()

    answer = shell.json("retry", job_id, "--reason", "once more", "--priority", "high")

    assert answer["created"] is True
    again = shell.test.queue.get(answer["job_id"])
    assert (again.retry_of, again.priority) == (job_id, Priority.HIGH)


def test_a_waiting_job_is_retried_by_being_due_now(shell: Shell):
    job_id = shell.enqueue(run_in=HOUR)

    result = shell.run("retry", job_id, "--reason", "now")

    assert (result.stdout, result.exit_code) == (f"{job_id}\n", 0)
    assert shell.test.queue.get(job_id).due_at == shell.test.clock.now()


def test_a_failed_run_is_retried_by_its_own_id(shell: Shell):
    job_id = shell.dead_job()

    answer = shell.json("retry", f"{job_id}.1", "--reason", "mended")

    assert shell.test.queue.get(answer["job_id"]).retry_of == job_id


def test_a_waiting_job_is_run_now_or_at_another_time(shell: Shell):
    job_id = shell.enqueue(run_in=HOUR)

    shell.ok("job", "reschedule", job_id, "--in", "2h", "--reason", "later")
    assert shell.test.queue.get(job_id).due_at == shell.test.clock.now() + 2 * HOUR
    shell.ok("job", "reschedule", job_id, "--at", "2026-03-01T09:00+01:00", "--reason", "later")
    assert shell.json("job", job_id)["due_at"] == "2026-03-01T08:00:00.000Z"
    shell.ok("job", "run-now", job_id, "--reason", "now")
    assert shell.test.queue.get(job_id).due_at == shell.test.clock.now()


def test_the_queue_is_listed_with_positions_and_a_job_is_moved_to_one(shell: Shell):
    first = shell.enqueue()
    shell.test.clock.advance(timedelta(seconds=1))
    second = shell.enqueue()

    shell.ok("job", "move", second, "--to", "1", "--reason", "needed first")

    listed = shell.json("queue")["items"]
    assert [(each["position"], each["job_id"]) for each in listed] == [(1, second), (2, first)]
    assert second in shell.ok("queue")
    assert shell.json("job", "show", first)["position"] == 2


def test_a_waiting_job_gets_another_priority_or_place(shell: Shell):
    first, second = shell.enqueue(run_in=HOUR), shell.enqueue(run_in=2 * HOUR)

    shell.ok("job", "priority", first, "critical", "--reason", "urgent")
    assert shell.test.queue.get(first).priority is Priority.CRITICAL
    shell.ok("job", "move", second, "--before", first, "--reason", "needed first")
    assert shell.test.queue.get(second).due_at == shell.test.queue.get(first).due_at


def test_a_job_is_purged_after_a_confirmation_only(shell: Shell):
    job_id = shell.done_job()
    shell.answers = [False]

    declined = shell.run("job", "purge", job_id, "--reason", "forget me")
    assert (declined.exit_code, declined.stderr) == (4, "Nothing was done.\n")
    assert shell.test.queue.get(job_id).payload == {"user": "ada"}

    shell.ok("job", "purge", job_id, "--reason", "forget me", "--yes")
    assert "ada" not in shell.ok("job", job_id)
    assert len(shell.asked) == 1


@pytest.mark.parametrize(
    "command",
    [
        ["cancel"],
        ["job", "run-now"],
        ["job", "priority", "high"],
        ["job", "move", "--before", UNKNOWN],
    ],
)
def test_an_ended_job_is_left_as_it_is(shell: Shell, command: list[str]):
    job_id = shell.done_job()
    positional = command.index("high") if "high" in command else len(command)

    result = shell.run(*command[:positional], job_id, *command[positional:], "--reason", "too late")

    assert result.exit_code in {3, 4}, result.output
    assert result.stderr.splitlines()[0].startswith(("wrong_state: ", "job_not_found: "))
    assert shell.test.queue.get(job_id).status is JobStatus.COMPLETED
    assert shell.records() == []


def test_a_waiting_job_is_not_purged_and_one_that_runs_is_not_retried(shell: Shell):
    waiting = shell.enqueue(run_in=HOUR)

    result = shell.run("job", "purge", waiting, "--reason", "forget", "--yes")

    assert result.exit_code == 4
    assert result.stderr.startswith("wrong_state: cannot purge job")


@pytest.mark.parametrize("command", [["job"], ["cancel", "--reason", "x"], ["retry", "--reason", "x"]])
def test_an_unknown_job_and_a_bad_id_are_told_apart(shell: Shell, command: list[str]):
    unknown, bad = shell.run(command[0], UNKNOWN, *command[1:]), shell.run(command[0], "12345", *command[1:])

    assert (unknown.exit_code, bad.exit_code) == (3, 2)
    assert unknown.stderr.startswith("job_not_found: there is no job")
    assert unknown.stderr.endswith("next: leasehold jobs\n")
    assert bad.stderr.startswith("invalid_job_id: ")


@pytest.mark.parametrize("arguments", [[], ["--at", "2026-03-01", "--in", "1h"]])
def test_a_job_is_rescheduled_to_exactly_one_time(shell: Shell, arguments: list[str]):
    result = shell.run("job", "reschedule", shell.enqueue(), *arguments, "--reason", "x")

    assert result.exit_code == 2
    assert "Pass --at or --in" in result.stderr


def test_a_bulk_cancel_shows_first_and_cancels_what_it_has_shown(shell: Shell):
    jobs = [shell.enqueue(run_in=timedelta(hours=1)) for _ in range(3)]
    other = shell.enqueue("user_sync", run_in=timedelta(hours=1))

    preview = shell.json("cancel", "--type", "daily_summary", "--dry-run")
    assert {each["job_id"] for each in preview["items"]} == set(jobs)
    assert shell.ok("cancel", "--type", "daily_summary", "--dry-run").splitlines()[-1] == "Would cancel 3 jobs."
    assert shell.records() == []

    shell.answers = [True]
    said = shell.ok("cancel", "--type", "daily_summary", "--reason", "twice")

    assert shell.asked == ["Cancel 3 jobs?"]
    assert said.splitlines()[-1] == "Cancelled: 3. Asked to stop: 0. Refused: 0."
    assert [str(shell.test.queue.get(each).status) for each in [*jobs, other]] == [*["cancelled"] * 3, "pending"]
    assert shell.records() == ["cancel"] * 3


def test_a_bulk_cancel_without_a_filter_or_beyond_its_bound_is_refused(shell: Shell):
    job = shell.enqueue(run_in=timedelta(hours=1))

    for arguments in (["--status", "pending"], ["--type", "daily_summary", "--limit", "1001"], [job, "--group", "g"]):
        assert shell.run("cancel", *arguments, "--reason", "no", "--yes").exit_code == 2
    assert shell.run("cancel", "--type", "daily_sumary", "--reason", "no", "--yes").exit_code == 3
    assert str(shell.test.queue.get(job).status) == "pending"


def test_several_jobs_are_cancelled_by_name_and_one_that_has_ended_is_refused(shell: Shell):
    waiting, done = shell.enqueue(run_in=timedelta(hours=1)), shell.done_job()

    result = shell.run("cancel", waiting, done, "--reason", "no")

    assert (result.exit_code, "Cancelled: 1. Asked to stop: 0. Refused: 1." in result.stdout) == (4, True)
