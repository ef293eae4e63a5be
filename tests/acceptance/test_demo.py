"""The demo as a user runs it: the real command in a process of its own, on a local AWS of its own."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.local_project import run
from tests.local_stack import LOCAL_AWS

if TYPE_CHECKING:
    import subprocess

    from tests.local_project import LocalProject


pytestmark = LOCAL_AWS


def test_the_demo_deploys_and_brings_every_job_to_the_end_that_it_should_have(local_project: LocalProject) -> None:
    answer = local_project.leasehold("demo", "--json")

    assert answer.returncode in {0, 1}, answer.stderr
    report = json.loads(answer.stdout)
    assert [case for case in report["cases"] if not case["ok"]] == []
    assert (answer.returncode, report["ok"]) == (0, True)
    assert "synthesising and deploying the stacks" in answer.stderr
    assert report["jobs"] == {"cancelled": 1, "completed": 117, "dead_letter": 1}
    came_out = {case["case"]: case["came_out"] for case in report["cases"]}
    assert came_out == {
        "snoozed": "1 completed",
        "crashed worker": "1 completed (FAILED, COMPLETED)",
        "at once": "5 completed",
        "scheduled": "1 completed",
        "deduplicated": "1 completed",
        "recovering": "1 completed (FAILED, FAILED, COMPLETED)",
        "dead letter": "1 dead_letter (FAILED, FAILED, FAILED)",
        "cancelled": "1 cancelled",
        "skipped": "1 completed (SKIPPED)",
        "limited": "6 completed",
        "bulk": "100 completed",
        "nothing else": "119 jobs, 1 dead letter",
    }


def demo_of_one_case(project: LocalProject, change: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The demo with the five jobs of one of its cases only, which is changed before."""
    program = f"""
import dataclasses, sys
from leasehold.kernel.transitions import JobStatus
from leasehold.local.demo import mix
from leasehold.local.demo.case import Asked, Ending
(case,) = [each for each in mix.CASES if each.name == "at once"]
{change}
mix.CASES = (case,)
sys.argv = {["leasehold", "demo", *arguments]!r}
from leasehold.cli.main import main
main()
"""
    return run(sys.executable, "-c", program, cwd=project.root, timeout=280)


def test_a_second_run_deploys_nothing_and_says_where_to_look_next(local_project: LocalProject) -> None:
    answer = demo_of_one_case(local_project, "")

    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "what is deployed is up to date" in answer.stdout
    assert "cdk" not in answer.stdout
    assert "Every one of the 5 jobs ended as it should" in answer.stdout
    for command in ("leasehold local status", "leasehold local logs", "leasehold local down"):
        assert command in answer.stdout


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param(
            "case = dataclasses.replace(case, ending=Ending(status=JobStatus.DEAD_LETTER))",
            "status should be dead_letter, but is completed",
            id="a job that ended otherwise",
        ),
        pytest.param(
            "ask = case.ask\ncase = dataclasses.replace(case, ask=lambda desk: Asked(ask(desk).job_ids[1:]))",
            "nobody asked for this job",
            id="a job that nobody asked for",
        ),
    ],
)
def test_a_demo_that_goes_wrong_says_what_and_exits_with_1(
    local_project: LocalProject, change: str, problem: str
) -> None:
    answer = demo_of_one_case(local_project, change, "--json")

    assert answer.returncode == 1, answer.stderr
    report = json.loads(answer.stdout)
    assert not report["ok"]
    assert any(problem in each for case in report["cases"] for each in case["problems"])
