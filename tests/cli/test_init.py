"""`leasehold init`: a project that is whole, and a refusal that leaves no trace."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path, PurePosixPath

import pytest
from typer.testing import CliRunner, Result

from leasehold.cli.commands import app
from leasehold.job_folders.folder import load_job_folders
from leasehold.local import tools

PROJECT = Path(__file__).parents[2]


def init(name: str, root: Path) -> Result:
    return CliRunner().invoke(app, ["init", name, "--root", str(root)])


def files_in(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_a_new_project_has_an_app_a_job_type_with_its_test_and_what_surrounds_them(tmp_path: Path) -> None:
    result = init("my-jobs", tmp_path)

    assert result.exit_code == 0, result.output
    assert files_in(tmp_path / "my-jobs") == {
        ".github/workflows/ci.yml",
        ".gitignore",
        "README.md",
        "app.py",
        "cdk.json",
        "jobs/send_letter/handler.py",
        "jobs/send_letter/job.toml",
        "jobs/send_letter/payload.py",
        "package.json",
        "pyproject.toml",
        "requirements.txt",
        "tests/test_send_letter.py",
    }
    assert "cd my-jobs && leasehold local deploy" in result.output
    assert json.loads((tmp_path / "my-jobs/cdk.json").read_text())["app"] == "python app.py"
    assert f"leasehold[cdk,cli]=={version('leasehold')}\n" in (tmp_path / "my-jobs/requirements.txt").read_text()


def test_its_app_is_at_most_ten_lines_of_code(tmp_path: Path) -> None:
    init("my-jobs", tmp_path)

    assert len([line for line in (tmp_path / "my-jobs/app.py").read_text().splitlines() if line.strip()]) <= 10


def test_a_second_job_type_goes_beside_the_first(tmp_path: Path) -> None:
    init("my-jobs", tmp_path)
    project = tmp_path / "my-jobs"

    made = CliRunner().invoke(app, ["new", "job", "count_stock", "--root", str(project)])

    assert made.exit_code == 0, made.output
    assert (project / "tests/test_count_stock.py").is_file()
    assert [each.name for each in load_job_folders(project, PurePosixPath("jobs"))] == ["count_stock", "send_letter"]


@pytest.mark.slow
def test_its_tests_pass_and_its_style_is_as_ours(tmp_path: Path) -> None:
    init("my-jobs", tmp_path)
    config = str(PROJECT / "pyproject.toml")
    for program, *arguments in (
        ("pytest", "-q", "-p", "no:cacheprovider"),
        ("ruff", "format", "--no-cache", "--check", "--config", config, "."),
    ):
        done = subprocess.run(
            [Path(sys.executable).with_name(program), *arguments],
            cwd=tmp_path / "my-jobs",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["My Jobs", "../elsewhere", "1st", "a" * 41, ""])
def test_a_bad_name_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    result = init(name, tmp_path)

    assert result.exit_code == 2
    assert "No project was made: a project's name is 1 to 40 characters" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "my-jobs").mkdir()
    (tmp_path / "my-jobs" / "mine.txt").write_text("mine")

    result = init("my-jobs", tmp_path)

    assert result.exit_code == 2
    assert "this is there already, and not empty" in result.stderr
    assert files_in(tmp_path) == {"my-jobs/mine.txt"}


def test_a_new_project_pins_the_cdk_command_line_that_is_deployed_with_here_and_names_it_in_no_other_way(
    tmp_path: Path,
) -> None:
    init("my-jobs", tmp_path)
    pinned = json.loads((PROJECT / "package.json").read_text())["devDependencies"]["aws-cdk"]

    made = json.loads((tmp_path / "my-jobs/package.json").read_text())

    assert made["devDependencies"] == {"aws-cdk": pinned}
    assert "npx aws-cdk" not in (tmp_path / "my-jobs/README.md").read_text()  # which would take the newest


def test_the_newest_cdk_library_that_the_extra_takes_is_the_one_that_is_tested_with_this_command_line() -> None:
    extra = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["cdk"]

    assert f"aws-cdk-lib>=2.200,<={version('aws-cdk-lib')}" in extra


def test_projects_deploy_with_the_same_cdk_command_line_as_this_repository() -> None:
    pinned = json.loads((Path(tools.__file__).parent / "package.json").read_text())["dependencies"]["aws-cdk"]

    assert pinned == json.loads((PROJECT / "package.json").read_text())["devDependencies"]["aws-cdk"]
