"""`leasehold audit`: every action leaves one record, repeated ones none, and a changed trail is noticed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold import NewJob
from leasehold.audit.keys import audit_head_key, audit_key
from leasehold.audit.roots import keep_root
from leasehold.aws.archive import RootFolder
from leasehold.kernel.keys import to_text
from leasehold.kernel.table import Delete, Update
from tests.cli.operators_shell import ACTOR, Shell

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOUR = timedelta(hours=1)
REASON = ("--reason", "because")


def group_of(shell: Shell) -> str:
    return shell.test.queue.groups.create([NewJob(job="daily_summary")] * 2, group_id="g").group_id


def schedule_of(shell: Shell) -> str:
    return shell.test.queue.schedules.create("nightly", "daily_summary", cron="0 3 * * *").name


def template_of(shell: Shell) -> str:
    return shell.test.queue.templates.create("weekly", "daily_summary").name


def nothing(_: Shell) -> str:
    return ""


# What is there before, the action on it, and whether the same once more leaves another audit entry.
ACTIONS: list[tuple[Callable[[Shell], str], list[str], bool]] = [
    (nothing, ["enqueue", "daily_summary"], True),
    (nothing, ["enqueue", "daily_summary", "--dedup-key", "k"], False),
    (lambda shell: shell.enqueue(run_in=HOUR), ["cancel", "{}"], False),
    (lambda shell: shell.done_job(), ["retry", "{}"], True),
    (lambda shell: shell.enqueue(run_in=HOUR), ["job", "run-now", "{}"], True),
    (lambda shell: shell.enqueue(run_in=HOUR), ["job", "reschedule", "{}", "--in", "2h"], True),
    (lambda shell: shell.enqueue(run_in=HOUR), ["job", "priority", "{}", "high"], True),
    (lambda shell: shell.done_job(), ["job", "purge", "{}", "--yes"], True),
    (lambda shell: shell.dead_job(), ["dead-letters", "redrive", "{}"], False),
    (lambda shell: shell.dead_job(), ["dead-letters", "redrive", "--all", "--yes"], False),
    (lambda shell: shell.dead_job(), ["dead-letters", "discard", "{}"], False),
    (nothing, ["schedules", "create", "s", "--type", "daily_summary", "--every", "1h"], False),
    (schedule_of, ["schedules", "pause", "{}"], False),
    (schedule_of, ["schedules", "delete", "{}"], False),
    (schedule_of, ["schedules", "trigger", "{}"], False),
    (schedule_of, ["schedules", "backfill", "{}", "--from", "1d", "--yes"], False),
    (nothing, ["templates", "create", "t", "daily_summary"], False),
    (template_of, ["templates", "update", "{}", "--priority", "low"], False),
    (template_of, ["templates", "delete", "{}"], False),
    (group_of, ["groups", "cancel", "{}", "--yes"], False),
    (nothing, ["halt", "--yes"], False),
    (nothing, ["pause", "user_sync"], False),
]


@pytest.mark.parametrize(
    ("prepare", "action", "is_another_audit_entry"), ACTIONS, ids=[" ".join(each[1]) for each in ACTIONS]
)
def test_an_action_leaves_exactly_one_record_and_a_repeated_one_none(
    prepare: Callable[[Shell], str], action: list[str], is_another_audit_entry: bool
):
    shell = Shell()
    # What was there before is not this operator's audit entry.
    subject = prepare(shell)
    shell.test.clock.advance(timedelta(seconds=1))
    arguments = [each.replace("{}", subject) for each in action]
    records = recorder(shell)

    shell.ok(*arguments, *REASON)
    assert len(records()) == 1
    shell.run(*arguments, *REASON)

    assert len(records()) == (2 if is_another_audit_entry else 1)


def recorder(shell: Shell) -> Callable[[], list[str]]:
    def records() -> list[str]:
        page = shell.admin.audit.records(limit=100)
        return [each.audit_entry.action for each in page.items if each.audit_entry.by == ACTOR]

    return records


def test_records_are_listed_with_who_what_and_why(shell: Shell):
    job_id = shell.enqueue(run_in=HOUR)
    shell.ok("job", "priority", job_id, "high", "--reason", "urgent")
    shell.ok("cancel", job_id, "--reason", "withdrawn")

    items = shell.json("audit", "list", "--target", job_id)["items"]

    assert [(item["action"], item["by"], item["reason"]) for item in items] == [
        ("cancel", ACTOR, "withdrawn"),
        ("edit", ACTOR, "urgent"),
    ]
    assert items[0]["previous"] == items[1]["head"]
    assert shell.json("audit", "list")["items"] == items
    assert "withdrawn" in shell.ok("audit", "list", "--target", f"job#{job_id}")


def test_a_sound_trail_is_verified(shell: Shell):
    shell.ok("pause", "user_sync", *REASON)
    shell.ok("cancel", shell.enqueue(run_in=HOUR), *REASON)

    assert shell.ok("audit", "verify") == "2 trails checked, 0 flawed.\n"
    assert shell.json("audit", "verify", "--target", "control#type#user_sync") == {
        "checked": 1,
        "roots": 0,
        "roots_from": None,
        "is_sound": True,
        "flawed": [],
    }


def test_a_record_that_somebody_edited_is_found(shell: Shell):
    job_id = shell.enqueue(run_in=HOUR)
    shell.ok("cancel", job_id, *REASON)
    trail = shell.admin.audit.records(f"job#{job_id}").items
    key = audit_key(f"job#{job_id}", to_text(trail[0].audit_entry.at), trail[0].audit_entry.audit_entry_id)
    shell.test.services.store.table.write(Update(key=key, conditions=(), sets={"by": "somebody-else"}))

    result, document = shell.run("audit", "verify"), shell.run("audit", "verify", "--json")

    assert (result.exit_code, document.exit_code) == (6, 6)
    assert result.stdout.startswith(f"job#{job_id}: the record of cancel at ")
    assert '"is_sound": false' in document.stdout


def test_a_target_that_was_removed_with_all_its_records_shows_in_the_roots(shell: Shell, tmp_path: Path):
    job_id = shell.enqueue(run_in=HOUR)
    shell.ok("cancel", job_id, *REASON)
    shell.test.clock.advance(HOUR)
    keep_root(shell.test.services, RootFolder(tmp_path))
    assert shell.ok("audit", "verify", "--roots", str(tmp_path)) == (
        f"1 trail and 1 daily root from {tmp_path} checked, 0 flawed.\n"
    )
    (record,) = shell.admin.audit.records(f"job#{job_id}").items
    table = shell.test.services.store.table
    for key in (
        audit_key(f"job#{job_id}", to_text(record.audit_entry.at), record.audit_entry.audit_entry_id),
        audit_head_key(f"job#{job_id}"),
    ):
        table.write(Delete(key=key, conditions=()))

    assert shell.run("audit", "verify").exit_code == 0, "the chains alone look well"
    result = shell.run("audit", "verify", "--roots", str(tmp_path))

    assert result.exit_code == 6
    assert "no longer lead to it" in result.stdout


def test_roots_that_prove_nothing_are_refused(shell: Shell, tmp_path: Path):
    result = shell.run("audit", "verify", "--roots", str(tmp_path))

    assert (result.exit_code, "no roots are kept there" in result.stderr) == (2, True)


def test_a_root_that_was_overwritten_in_a_copy_is_a_finding(shell: Shell, tmp_path: Path):
    (tmp_path / "2026-11-16.json").write_text("[]")

    result = shell.run("audit", "verify", "--roots", str(tmp_path))

    assert (result.exit_code, "it is no root" in result.stdout) == (6, True)


def test_the_deployments_own_roots_are_checked_without_being_asked_for(shell: Shell, tmp_path: Path):
    registry = shell.test.services.deployment.registry()
    shell.test.operator.publish(replace(registry, audit_roots="the-bucket"))
    shell.archives["the-bucket"] = RootFolder(tmp_path)
    job_id = shell.enqueue(run_in=HOUR)
    shell.ok("cancel", job_id, *REASON)
    shell.test.clock.advance(HOUR)
    keep_root(shell.test.services, RootFolder(tmp_path))
    assert "1 daily root" in shell.ok("audit", "verify")
    (record,) = shell.admin.audit.records(f"job#{job_id}").items
    for key in (
        audit_key(f"job#{job_id}", to_text(record.audit_entry.at), record.audit_entry.audit_entry_id),
        audit_head_key(f"job#{job_id}"),
    ):
        shell.test.services.store.table.write(Delete(key=key, conditions=()))

    assert shell.run("audit", "verify").exit_code == 6
    assert shell.run("audit", "verify", "--without-roots").exit_code == 0


def test_a_place_that_is_neither_folder_nor_bucket_is_refused(shell: Shell):
    result = shell.run("audit", "verify", "--roots", "/nowhere/at/all")

    assert (result.exit_code, "there is no such folder" in result.stderr) == (2, True)


def test_a_target_that_is_none_is_refused(shell: Shell):
    result = shell.run("audit", "list", "--target", "nonsense")

    assert (result.exit_code, result.stderr.partition(":")[0]) == (2, "invalid_job_id")
