"""The first minutes of somebody who has only the wheel and the registries: five commands, and a job is done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.package.built import build, python_3_12, run

# It asks registries, and takes three minutes on a busy machine of two cores.
pytestmark = [pytest.mark.deep, pytest.mark.ministack, pytest.mark.xdist_group("package"), pytest.mark.timeout(400)]

WITHIN_SECONDS = 60


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_from_an_empty_folder_to_a_completed_job_in_five_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    python = python_3_12() if version == "3.12" else Path(sys.executable)
    if python is None:
        pytest.skip("there is no Python 3.12 on this machine")
    wheel = build(tmp_path / "dist").wheel
    home = tmp_path / "home"
    home.mkdir()
    run(python, "-m", "venv", home / ".venv", timeout=150)
    commands: list[str] = []
    began = time.monotonic()

    def shell(command: str, folder: Path = home) -> str:
        commands.append(command)
        return in_shell(command, home / ".venv", folder)

    project = home / "my-jobs"
    try:
        shell(f'pip install --quiet "leasehold[cdk,cli] @ {wheel.as_uri()}" pytest')
        shell("leasehold init my-jobs")
        said = shell("cd my-jobs && leasehold local deploy")
        job_id = shell(
            """leasehold enqueue send_letter --local --payload '{"subject":"ada"}' --reason 'to see it work'""", project
        ).strip()
        job = ended(job_id, home / ".venv", project)
        seconds = time.monotonic() - began
        shell("pytest -q", project)
    finally:
        if project.is_dir():
            in_shell("leasehold local down", home / ".venv", project)

    assert (job["status"], job["result"]) == ("completed", {"subject": "ada"})
    assert "installing the local AWS into .leasehold/tools/" in said
    assert "installing the CDK command line into .leasehold/tools/" in said
    assert len(commands) == 5
    with capsys.disabled():
        print(f"\nfrom an empty folder to a completed job, on Python {version}: {seconds:.0f} s")


def ended(job_id: str, environment: Path, project: Path) -> dict[str, object]:
    deadline = time.monotonic() + WITHIN_SECONDS
    while True:
        job: dict[str, object] = json.loads(in_shell(f"leasehold job {job_id} --local --json", environment, project))
        if job["status"] in ("completed", "dead_letter", "cancelled") or time.monotonic() > deadline:
            return job
        time.sleep(1)


def in_shell(command: str, environment: Path, folder: Path) -> str:
    """As in a terminal where this environment is activated; nothing of the tests' own is inherited."""
    unwanted = ("AWS_", "PYTEST", "PYTHON", "LEASEHOLD_", "VIRTUAL_ENV")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    own = [part for part in os.environ["PATH"].split(os.pathsep) if part != os.path.dirname(sys.executable)]
    path = os.pathsep.join([str(environment / "bin"), *own])
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**inherited, "PATH": path, "LEASEHOLD_CACHE": str(environment.parent / "cache")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout
