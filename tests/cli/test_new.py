"""`leasehold new job`: what it makes is whole, and what it refuses leaves no trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from leasehold.cli.commands import app
from leasehold.job_folders.folder import load_job_folders

PROJECT = Path(__file__).parents[2]


def new_job(name: str, root: Path) -> Result:
    return CliRunner().invoke(app, ["new", "job", name, "--root", str(root)])


def files_in(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def run(root: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=root, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_new_job_type_has_a_payload_a_handler_settings_and_a_test(tmp_path: Path):
    result = new_job("send_letter", tmp_path)
    assert result.exit_code == 0, result.output
    files = [
        "conftest.py",
        "functions/jobs/send_letter/handler.py",
        "functions/jobs/send_letter/job.toml",
        "functions/jobs/send_letter/payload.py",
        "tests/functions/jobs/test_send_letter.py",
    ]
    assert files_in(tmp_path) == files
    assert sorted(line for line in result.output.splitlines() if line.startswith("made")) == [
        f"made {each}" for each in files
    ]


def test_a_new_job_type_can_be_deployed_and_never_overlaps_itself_until_its_author_says_so(tmp_path: Path):
    new_job("send_letter", tmp_path)
    (folder,) = load_job_folders(tmp_path)
    assert folder.name == "send_letter"
    assert folder.job_type.concurrency == 1
    assert "concurrency = 1 " in (tmp_path / folder.path / "job.toml").read_text("utf-8")


def test_what_the_settings_show_commented_out_is_valid_too(tmp_path: Path):
    new_job("send_letter", tmp_path)
    settings = tmp_path / "functions" / "jobs" / "send_letter" / "job.toml"
    lines = settings.read_text("utf-8").splitlines()
    examples = [line.removeprefix("# ") if line.startswith("# ") and not line.endswith(":") else line for line in lines]
    settings.write_text("\n".join(examples), "utf-8")
    (folder,) = load_job_folders(tmp_path)
    assert folder.schedule is not None
    assert len(folder.permissions) == 1
    assert folder.environment == {"REPORT_BUCKET": "my-reports"}


@pytest.mark.slow
def test_its_own_test_passes_and_its_style_is_the_projects(tmp_path: Path):
    new_job("send_letter", tmp_path)
    config = str(PROJECT / "pyproject.toml")
    # As a program: `python -m pytest` would import from this folder whatever is in it.
    plain = subprocess.run(
        [Path(sys.executable).with_name("pytest"), "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert plain.returncode == 0, plain.stdout + plain.stderr
    run(tmp_path, "ruff", "check", "--no-cache", "--config", config, ".")
    run(tmp_path, "ruff", "format", "--no-cache", "--check", "--config", config, ".")


def test_a_project_that_says_itself_where_pytest_imports_from_gets_no_conftest(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    new_job("send_letter", tmp_path)
    assert not (tmp_path / "conftest.py").exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "Send-Letter",
            "a job type is 1 to 64 characters of a-z, 0-9 and _, starting with a letter: got 'Send-Letter'.",
        ),
        ("../escape", "a job type is 1 to 64 characters of a-z, 0-9 and _, starting with a letter: got '../escape'."),
        ("class", "Python or Leasehold uses this name itself: got 'class'."),
        ("base_job", "Python or Leasehold uses this name itself: got 'base_job'."),
    ],
)
def test_a_bad_name_is_refused_and_nothing_is_written(tmp_path: Path, name: str, reason: str):
    result = new_job(name, tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"No job type was made: {reason}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("taken", ["functions/jobs/send_letter", "tests/functions/jobs/test_send_letter.py"])
def test_what_is_there_already_is_not_touched(tmp_path: Path, taken: str):
    (tmp_path / taken).mkdir(parents=True)
    (tmp_path / taken / "mine.txt").write_text("mine")
    result = new_job("send_letter", tmp_path)
    assert result.exit_code == 2
    assert result.stderr == (
        f"No job type was made: this is there already: got '{taken}'. Choose another name, or remove it first.\n"
    )
    assert files_in(tmp_path) == [f"{taken}/mine.txt"]


def test_a_root_that_is_not_there_is_refused(tmp_path: Path):
    result = new_job("send_letter", tmp_path / "nowhere")
    assert result.exit_code == 2
    assert "there is no such folder" in result.stderr
    assert not (tmp_path / "nowhere").exists()
