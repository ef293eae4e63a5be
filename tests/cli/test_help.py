"""Every command says what it does, with an example that works as it stands."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from typer.main import get_command

from leasehold import NewJob
from leasehold.cli.commands import app
from tests.cli.operators_shell import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What existed before operators did, and is about this machine.
OTHERS = {"local", "dev", "new", "init", "demo", "version"}


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, each in getattr(command, "commands", {}).items():
        if hasattr(each, "commands"):
            yield from leaves(each, (*path, name))
        else:
            yield " ".join((*path, name)), each


COMMANDS = dict(leaves(get_command(app)))
OPERATORS = sorted(path for path in COMMANDS if path.partition(" ")[0] not in OTHERS)


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_every_command_says_what_it_does_and_what_its_options_mean(path: str):
    command = COMMANDS[path]

    assert command.help
    assert command.help[0].isupper()
    for parameter in command.params:
        assert parameter.help, f"{path} {parameter.name}"


@pytest.mark.parametrize("path", ["schedules create", "schedules update", "templates update"])
def test_the_type_of_what_makes_jobs_is_no_filter(path: str):
    (job_type,) = [each for each in COMMANDS[path].params if "--type" in each.opts]

    assert job_type.help == "The type of the jobs it makes."


@pytest.mark.parametrize("path", OPERATORS)
def test_every_operators_command_has_json_the_queue_it_is_about_and_a_reason_if_it_acts(path: str):
    names = {name for parameter in COMMANDS[path].params for name in parameter.opts}

    assert {"--json", "--queue", "--local", "--profile", "--region", "--endpoint-url"} <= names
    reads = {"list", "show", "members", "verify", "jobs", "queue", "status", "top", "console", "export", "logs"}
    assert ("--reason" in names) == (path.rsplit(maxsplit=1)[-1] not in reads)


# The console serves until it is stopped, verify and logs are about a whole deployment: their own tests run them.
@pytest.mark.parametrize("path", [path for path in OPERATORS if path not in {"console", "verify", "logs"}])
def test_the_example_of_each_command_works(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    shell = Shell()
    # After the moments that examples name.
    shell.test.clock.move_to(datetime(2026, 11, 16, 9, tzinfo=UTC))
    words = shlex.split(COMMANDS[path].epilog.removeprefix("Example: "))
    assert words[0] == "leasehold"
    named = example_world(shell, path)
    arguments = [named.get(word, word) for word in words[1:]]
    shell.answers = [True]

    result = shell.run(*arguments)

    assert result.exit_code == 0, result.output
    assert path.startswith(arguments[0])


def example_world(shell: Shell, path: str) -> dict[str, str]:
    """The things that examples name; the id of a job in the state that the command is for."""
    queue = shell.test.queue
    if path != "schedules create":
        queue.schedules.create("nightly", "daily_summary", cron="0 3 * * *")
    if path != "templates create":
        queue.templates.create("nightly", "daily_summary")
    dead, waiting = shell.dead_job(), shell.enqueue(run_in=timedelta(hours=1))
    queue.groups.create([NewJob(job="daily_summary")], group_id="import-2026-11-15")
    for command, folder in (("restore load", "before-the-move"), ("restore settle", "old-tables")):
        if path == command:
            shell.ok("restore", "export", folder)
    job_id = dead if path.startswith("dead-letters") or path in {"job purge", "retry"} else waiting
    return {
        "JOB_ID": job_id,
        "OTHER_ID": shell.enqueue(run_in=timedelta(hours=2)),
        "01a1de8a-c9c0-8000-9c5f-3a5d8a1b2c3d": waiting,
    }


def test_the_front_page_lists_every_command(shell: Shell):
    text = shell.ok("--help")

    for name in get_command(app).commands:  # type: ignore[attr-defined]
        assert name in text


@pytest.mark.parametrize("group", ["dead-letters", "schedules", "templates", "groups", "audit", "job"])
def test_a_group_of_commands_alone_shows_its_help(shell: Shell, group: str):
    result = shell.run(group)

    assert result.exit_code == 2
    assert f"leasehold {group}" in result.output or f"root {group}" in result.output
