"""The demo as a user runs it: the real command in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from leasehold.local import servers

ROOT = Path(__file__).parent.parent.parent
LEASEHOLD = Path(sys.executable).parent / "leasehold"

needs_dynoxide = pytest.mark.skipif(
    not servers.dynoxide_is_built_for_this_machine(), reason="the demo's DynamoDB engine needs Linux x86_64"
)


def run(*arguments: str | Path, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def run_changed(change: str) -> subprocess.CompletedProcess[str]:
    """The demo's quickest case alone, with something in it changed."""
    program = f"""
from leasehold.local.demo import case, demo, handlers, mix
mix.CASES = tuple(each for each in mix.CASES if each.name == "at once")
demo.PATIENCE_SECONDS = 3
{change}
import sys
from leasehold.cli.main import main
sys.argv = ["leasehold", "demo", "--json"]
main()
"""
    return run(sys.executable, "-c", program)


@needs_dynoxide
@pytest.mark.slow
def test_the_demo_brings_every_job_to_the_end_that_it_should_have() -> None:
    answer = run(LEASEHOLD, "demo", "--json")

    report = json.loads(answer.stdout)
    assert [case for case in report["cases"] if not case["ok"]] == []
    assert (answer.returncode, report["ok"]) == (0, True)
    assert report["jobs"] == {"cancelled": 1, "completed": 124, "dead_letter": 1}
    came_out = {case["case"]: case["came_out"] for case in report["cases"]}
    assert came_out == {
        "crashed worker": "1 completed (FAILED, COMPLETED)",
        "at once": "10 completed",
        "scheduled": "1 completed",
        "deduplicated": "1 completed",
        "recovering": "1 completed (FAILED, FAILED, COMPLETED)",
        "dead letter": "1 dead_letter (FAILED, FAILED, FAILED)",
        "snoozed": "1 completed",
        "cancelled": "1 cancelled",
        "skipped": "1 completed (SKIPPED)",
        "limited": "8 completed",
        "bulk": "100 completed",
        "nothing else": "126 jobs, 1 dead letters",
    }


@needs_dynoxide
@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param(
            "def fail(self, payload): raise ValueError('no mail today')\nhandlers.DailySummaryHandler.handle = fail",
            "status should be completed, but is failed",
            id="a handler that fails",
        ),
        pytest.param(
            "ask = mix.CASES[0].ask\n"
            "def more(desk):\n"
            "    asked = ask(desk)\n"
            "    asked.job_ids.pop()\n"
            "    return asked\n"
            "import dataclasses\n"
            "mix.CASES = (dataclasses.replace(mix.CASES[0], ask=more),)",
            "nobody asked for this job",
            id="a job that nobody asked for",
        ),
    ],
)
def test_a_demo_that_goes_wrong_says_what_and_exits_with_1(change: str, problem: str) -> None:
    answer = run_changed(change)

    assert answer.returncode == 1, answer.stderr
    report = json.loads(answer.stdout)
    assert not report["ok"]
    assert any(problem in each for case in report["cases"] for each in case["problems"])


@needs_dynoxide
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_demo_that_is_stopped_takes_its_database_with_it(number: signal.Signals, code: int) -> None:
    demo = subprocess.Popen([LEASEHOLD, "demo"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    first = demo.stdout.readline()
    address = re.search(r"listens on http://127\.0\.0\.1:(\d+)", first)
    assert address, first

    demo.send_signal(number)

    demo.communicate()
    assert demo.returncode == code
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(address[1])), timeout=1)


def test_without_its_database_engine_the_demo_says_what_to_do(tmp_path: Path) -> None:
    answer = run(LEASEHOLD, "demo", cwd=tmp_path, PATH="/nowhere")

    assert answer.returncode == 2
    assert "The demo could not run: dynoxide is not available" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_packages_of_the_command_line_it_says_what_to_install(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from leasehold.cli.main import main; main()"
    answer = run(sys.executable, "-c", program)

    assert answer.returncode == 2
    assert "pip install 'leasehold[cli]'" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_the_version_is_the_packages_own() -> None:
    assert run(LEASEHOLD, "version").stdout.strip() == "0.1.0"
