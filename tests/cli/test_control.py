"""`leasehold halt`, `pause`, `resume`: what they change, and what `status` and `top` show of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from rich.console import Console

from leasehold import CircuitBreaker, JobType
from leasehold.cli.operating.live import watch
from leasehold.cli.session import SharedOptions
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.testing import FakeClock, LeaseholdTest
from tests.cli.operators_shell import ACTOR, Breaks, Shell


def test_a_halt_asks_first_and_a_resume_lifts_it(shell: Shell):
    shell.answers = [False, True]

    assert shell.run("halt", "--reason", "bad deploy").exit_code == 4
    assert shell.ok("status").startswith("the system is up")
    shell.ok("halt", "--reason", "bad deploy")
    assert shell.ok("status").startswith(f"HALTED 1s ago by {ACTOR}: bad deploy")
    assert shell.json("resume", "--reason", "mended") == {"halted": False, "changed": True}
    assert shell.ok("status").startswith("the system is up")
    assert shell.records("control#halt") == ["halt", "resume"]


def test_a_type_is_paused_and_resumed(shell: Shell):
    assert shell.json("pause", "user_sync", "--reason", "broken")["changed"] is True
    assert f"user_sync paused 1s ago by {ACTOR}: broken" in shell.ok("status")
    assert shell.ok("resume", "user_sync", "--reason", "mended") == "user_sync goes on.\n"
    assert "paused" not in shell.ok("status")


def test_what_is_so_already_is_said_and_leaves_no_record(shell: Shell):
    assert shell.ok("resume", "--reason", "x") == "It was not halted.\n"
    assert shell.ok("resume", "user_sync", "--reason", "x") == "user_sync was not paused.\n"
    assert shell.records() == []
    shell.ok("pause", "user_sync", "--reason", "x")
    assert shell.json("pause", "user_sync", "--reason", "x")["changed"] is False
    shell.ok("halt", "--yes", "--reason", "x")
    assert shell.ok("halt", "--yes", "--reason", "x") == "It was halted already.\n"
    assert sorted(shell.records()) == ["halt", "pause"]


def test_an_unknown_type_is_not_paused(shell: Shell):
    result = shell.run("pause", "user_snyc", "--reason", "x")

    assert result.exit_code == 3
    assert result.stderr.startswith("unknown_job_type: ")


def test_the_status_counts_per_type_and_tells_what_is_due_since_when(shell: Shell):
    shell.dead_job()
    shell.enqueue()
    shell.test.clock.advance(timedelta(minutes=5))

    text, document = shell.ok("status"), shell.json("status")

    row = next(line for line in text.splitlines() if line.startswith("daily_summary"))
    assert row.split()[:6] == ["daily_summary", "active", "1", "5m", "1s", "ago"]
    assert "dead letters: 1, the oldest 5m 1s ago" in text
    assert document["backlog"]["types"]["daily_summary"]["depth"] == 1
    assert document["counts"]["statuses"]["dead_letter"]["total"] == {"value": 1, "is_exact": True}
    assert "daily_summary" in document["control"]["types"]


def test_an_open_circuit_is_told_apart_from_a_pause():
    settings = JobType(name="user_sync", max_attempts=1, breaker=CircuitBreaker(min_runs=3))
    shell = Shell(test=LeaseholdTest({"user_sync": Breaks}, types=[settings]))
    for _ in range(5):
        shell.enqueue("user_sync")
    shell.test.drain()

    assert "user_sync circuit open, next probe" in shell.ok("status")
    assert shell.ok("resume", "user_sync", "--reason", "mended") == "user_sync goes on.\n"
    assert "circuit" not in shell.ok("status")


def test_a_single_look_of_top_shows_the_last_hour_and_ends(shell: Shell):
    shell.done_job()

    text, document = shell.ok("top", "--once"), shell.json("top", "--once")

    assert "ended in the last hour: 1" in text
    assert (document["running"]["items"], document["last_hour"]["types"]) == ([], {"daily_summary": {"completed": 1}})
    assert shell.ok("top").startswith("leasehold ")


class ImpatientClock(FakeClock):
    """Its owner presses Ctrl-C while it sleeps the third time."""

    sleeps = 0

    def sleep(self, duration: timedelta) -> None:
        self.sleeps += 1
        if self.sleeps == 3:
            raise KeyboardInterrupt
        super().sleep(duration)


def test_top_for_programs_is_a_line_a_look_and_ends_cleanly_on_ctrl_c():
    shell = Shell(test=LeaseholdTest(clock=ImpatientClock()))

    lines = shell.ok("top", "--interval", "10", "--json").splitlines()

    assert [json.loads(line)["at"][-10:] for line in lines] == ["00:01.000Z", "00:11.000Z", "00:21.000Z"]


def test_on_a_terminal_top_goes_on_through_trouble_and_says_so():
    shell = Shell(test=LeaseholdTest(clock=ImpatientClock()))
    looks = []

    class Troubled:
        """Reads like the admin service, but the second look fails."""

        services = shell.admin.services

        @property
        def read(self) -> object:
            looks.append(shell.test.clock.now())
            if len(looks) == 6:
                raise StoreUnavailableError("table 'jobs' cannot be reached")
            return shell.admin.read

    screen = StringIO()
    session = shell.session(SharedOptions())
    session.admin = Troubled()  # type: ignore[assignment]
    session.out.console = Console(file=screen, force_terminal=True, width=100, height=30)

    with pytest.raises(KeyboardInterrupt):
        watch(session, timedelta(seconds=10), once=False)

    assert "store_unavailable: table 'jobs' cannot be reached; trying again" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[?25h\x1b[?1049l")  # the screen is given back, with its cursor


def test_a_first_look_that_fails_ends_top_like_any_command(shell: Shell):
    shell.failure = StoreUnavailableError("table 'jobs' cannot be reached")

    result = shell.run("top")

    assert (result.exit_code, result.stderr.partition(":")[0]) == (5, "store_unavailable")


def test_an_interval_is_at_least_a_second(shell: Shell):
    assert shell.run("top", "--interval", "0.1").exit_code == 2


def test_counts_of_types_that_are_deployed_no_more_are_shown_all_the_same(shell: Shell):
    shell.enqueue("user_sync", run_in=timedelta(hours=1))
    registry = shell.test.services.deployment.registry()
    shell.test.operator.publish(replace(registry, types={"daily_summary": registry.types["daily_summary"]}))

    assert "user_sync" in shell.ok("status")


def test_a_type_that_was_removed_is_not_deployed_and_shows_its_waiting_jobs(shell: Shell):
    shell.enqueue("user_sync", run_in=timedelta(hours=1))
    registry = shell.test.services.deployment.registry(fresh=True)
    left = {name: each for name, each in registry.types.items() if name != "user_sync"}
    shell.test.queue.operator.publish(replace(registry, types=left))
    shell.test.services.deployment.forget()

    (row,) = [line.split("  ") for line in shell.ok("status").splitlines() if line.startswith("user_sync")]

    assert [each.strip() for each in row if each.strip()][:2] == ["user_sync", "not deployed"]
    assert "1" in [each.strip() for each in row]
    assert shell.json("status")["control"]["not_deployed"] == ["user_sync"]
