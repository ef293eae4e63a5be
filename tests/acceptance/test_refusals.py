"""What the commands say when they cannot do what they are asked: no deployment is needed to see it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests import servers
from tests.local_project import LEASEHOLD, LocalProject, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def idle_project(tmp_path: Path) -> Iterator[LocalProject]:
    """A project whose local AWS was never started, and is gone afterwards."""
    project = LocalProject.make(tmp_path / "project")
    yield project
    project.leasehold("local", "down")


@pytest.mark.ministack
def test_a_port_that_is_taken_is_named_with_another_one_to_take(idle_project: LocalProject) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        answer = idle_project.leasehold("demo", "--port", str(port))

    assert answer.returncode == 2
    assert f"port {port} is taken by another program" in answer.stderr
    assert "--port" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.ministack
def test_a_deployment_that_fails_shows_the_end_of_what_the_cdk_said(idle_project: LocalProject) -> None:
    cdk = idle_project.root / "node_modules" / ".bin" / "cdk"
    (idle_project.root / "node_modules").unlink()
    cdk.parent.mkdir(parents=True)
    cdk.write_text("#!/bin/sh\necho 'the toolkit stack is on holiday' >&2\nexit 3\n")
    cdk.chmod(0o755)

    answer = idle_project.leasehold("demo", "--port", str(servers.free_port()), "--down")

    assert answer.returncode == 2
    assert "`cdk bootstrap` failed with code 3" in answer.stderr
    assert "the toolkit stack is on holiday" in answer.stderr
    assert not (idle_project.root / ".leasehold" / "local").exists()


def test_where_the_local_aws_cannot_be_installed_the_demo_says_what_it_tried(
    idle_project: LocalProject, tmp_path: Path
) -> None:
    (idle_project.root / ".venv-ministack").unlink()

    answer = run(LEASEHOLD, "demo", cwd=idle_project.root, UV_OFFLINE="1", UV_CACHE_DIR=str(tmp_path / "empty"))

    assert answer.returncode == 2
    assert "==> installing the local AWS into .leasehold/tools/ministack-" in answer.stdout
    assert "`uv pip` is not available: it ended with " in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.ministack
def test_without_the_cdk_and_without_npm_the_demo_says_what_to_do(idle_project: LocalProject) -> None:
    (idle_project.root / "node_modules").unlink()

    answer = run(LEASEHOLD, "demo", "--down", cwd=idle_project.root, PATH="/nowhere")

    assert answer.returncode == 2
    assert "npm is not available: its program was not found. It comes with Node.js" in answer.stderr
    assert not (idle_project.root / ".leasehold" / "local").exists()


def test_in_a_folder_that_is_no_project_the_demo_asks_for_one(tmp_path: Path) -> None:
    answer = run(LEASEHOLD, "demo", cwd=tmp_path)

    assert answer.returncode == 2
    assert "no cdk.json" in answer.stderr
    assert "--root" in answer.stderr


@pytest.mark.ministack
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_demo_that_is_stopped_takes_the_cdk_with_it_and_what_it_was_told_to(
    idle_project: LocalProject, number: signal.Signals, code: int
) -> None:
    cdk = idle_project.root / "node_modules" / ".bin" / "cdk"
    (idle_project.root / "node_modules").unlink()
    cdk.parent.mkdir(parents=True)
    cdk.write_text(f"#!/bin/sh\necho $$ > {idle_project.root}/cdk.pid\nexec sleep 300\n")
    cdk.chmod(0o755)
    port = servers.free_port()
    command = [str(LEASEHOLD), "demo", "--down", "--port", str(port)]
    with subprocess.Popen(command, cwd=idle_project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as demo:
        pid_file = idle_project.root / "cdk.pid"
        while not (pid_file.exists() and pid_file.read_text().strip()):
            assert demo.poll() is None
            time.sleep(0.05)
        demo.send_signal(number)
        demo.communicate()

    assert demo.returncode == code
    assert servers.port_is_free(port)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_packages_of_the_command_line_it_says_what_to_install(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from leasehold.cli.main import main; main()"
    answer = run(sys.executable, "-c", program)

    assert answer.returncode == 2
    assert "pip install 'leasehold[cli]'" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_the_version_is_the_packages_own() -> None:
    assert run(LEASEHOLD, "version").stdout.strip() == "0.2.0"
