"""Bad job.toml files: what their author is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from leasehold.job_folders.job_toml import read_job_toml
from leasehold.job_folders.toml import InvalidJobFolderError
from tests.job_folders.reading import FILE, read


def complaint_about(text: str) -> str:
    """The one problem of a file, without the file's name."""
    _, problems = read(text)
    (problem,) = problems
    assert problem.startswith(f"{FILE}: ")
    return problem.removeprefix(f"{FILE}: ")


def bad_files() -> list[list[str]]:
    _heading, *cases = (Path(__file__).parent / "bad_job_tomls.txt").read_text("utf-8").strip().split("\n\n")
    return [case.split("\n--> ") for case in cases]


@pytest.mark.parametrize(("text", "message"), bad_files())
def test_a_bad_value_is_told_with_its_reason_and_its_fix(text: str, message: str):
    assert complaint_about(text) == message


def test_an_environment_that_lambda_would_refuse_for_its_size_is_refused_here():
    assert "bytes are more than the 3072 there is room for. Keep it in SSM or S3." in complaint_about(
        f'[environment]\nBIG = "{"x" * 3100}"'
    )


def test_a_file_that_does_not_say_how_many_may_run_at_once_is_refused():
    with pytest.raises(InvalidJobFolderError) as caught:
        read_job_toml("backup", "functions/jobs/backup", {"memory": 512}, file=FILE)

    assert [str(problem) for problem in caught.value.problems] == [
        f"{FILE}: it does not say how many of its jobs may run at once. "
        'Write concurrency = 1, a larger number, or "unlimited".'
    ]


def test_all_problems_of_a_file_are_told_together():
    _, problems = read('timeout = 1000\nlease = 60\nmemory = 1\ncolour = "red"\n[retry]\npolicy = "fixed"\ndelay = "x"')
    assert [problem.removeprefix(f"{FILE}: ").partition(" = ")[0] for problem in problems] == [
        "timeout",
        "retry.delay",
        "memory",
        "colour",
    ]
