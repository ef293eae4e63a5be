"""A developer's hour: a project of one's own, a typed job, mistakes found early, changes tried at once."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.local.aws.connection import open_queue
from leasehold.local.aws.inspection import client
from leasehold.local.aws.instance import LocalAws
from tests.local_project import LEASEHOLD, ROOT, run
from tests.local_stack import LOCAL_AWS, PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.kernel.payload import Json
    from leasehold.local.aws.instance import Running

# It deploys a project of its own: minutes on a busy machine. What it joins is tested part by part elsewhere.
pytestmark = [pytest.mark.deep, *LOCAL_AWS]

PAYLOAD = """
from typing import ClassVar

from pydantic import BaseModel


class SendLetter(BaseModel):
    job_type: ClassVar[str] = "send_letter"

    to: str
    pages: int
"""
HANDLER = """
from jobs.send_letter.payload import SendLetter
from leasehold import BaseJobHandler, JobContext


class SendLetterHandler(BaseJobHandler[SendLetter]):
    def handle(self, payload: SendLetter, context: JobContext) -> dict[str, int]:
        context.logger.info("counting")
        return {"price": payload.pages * 1}
"""
TEST = """
from jobs.send_letter.handler import SendLetterHandler
from jobs.send_letter.payload import SendLetter
from leasehold.testing import LeaseholdTest


def test_a_letter_has_its_price(leasehold: LeaseholdTest) -> None:
    leasehold.register("send_letter", SendLetterHandler)
    job_id = leasehold.queue.enqueue(SendLetter(to="ada", pages=3)).job_id
    leasehold.drain()
    assert leasehold.queue.get(job_id).result == {"price": 3}
"""
FITTING: Json = {"to": "ada", "pages": 3}


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    made = run(LEASEHOLD, "init", "shop", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    shop = tmp_path / "shop"
    # What is installed already need not be installed again.
    for name in (".venv-ministack", "node_modules"):
        (shop / name).symlink_to(ROOT / name)
    yield shop
    run(LEASEHOLD, "local", "down", cwd=shop, timeout=280)


@pytest.fixture
def dev(project: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`leasehold dev`, which says what it does into a file."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    (project / "jobs/send_letter/payload.py").write_text(PAYLOAD)
    (project / "jobs/send_letter/handler.py").write_text(HANDLER)
    (project / "tests/test_send_letter.py").write_text(TEST)
    with (project / "dev.txt").open("wb") as output:
        process = subprocess.Popen([LEASEHOLD, "dev"], cwd=project, env=inherited, stdout=output, stderr=output)
    yield process
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=30)


def deployments(running: Running) -> list[Any]:
    """Each stack with the times that it was deployed at."""
    stacks = client(running, "cloudformation").describe_stacks()["Stacks"]
    return [[each["StackName"], each["CreationTime"], each.get("LastUpdatedTime")] for each in stacks]


def test_a_change_reaches_its_result_without_a_deployment_and_mistakes_are_said_where_they_are_made(
    project: Path, dev: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    said, handler = project / "dev.txt", project / "jobs/send_letter/handler.py"
    tested = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert eventually(lambda: "watching send_letter" in said.read_text(), within=timedelta(seconds=280)), (
        said.read_text()
    )
    running = LocalAws(project).running()
    assert running is not None
    before, queue = deployments(running), open_queue(running)

    wrong = run(
        LEASEHOLD, "enqueue", "send_letter", "--local", "--payload", '{"to": "ada", "pages": []}', "--reason", "x",
        cwd=project,
    )  # fmt: skip
    assert (wrong.returncode, "payload.pages" in wrong.stderr) == (2, True)
    first = queue.enqueue("send_letter", FITTING).job_id
    assert queue.wait(first, timeout=PATIENCE).result == {"price": 3}
    shown = eventually(lambda: re.search(r"INFO +send_letter +counting", said.read_text()))
    assert shown, said.read_text()
    assert "RequestId" not in said.read_text()

    began = time.monotonic()
    handler.write_text(HANDLER.replace("pages * 1", "pages * 2"))
    assert eventually(lambda: "send_letter: the new code is there" in said.read_text(), every=0.05), said.read_text()
    changed = queue.enqueue("send_letter", FITTING).job_id
    assert queue.wait(changed, timeout=PATIENCE).result == {"price": 6}
    seconds = time.monotonic() - began

    handler.write_text("import no_such_package\n" + HANDLER)
    assert eventually(lambda: "cannot start" in said.read_text()), said.read_text()
    broken = queue.enqueue("send_letter", FITTING, max_attempts=1).job_id
    assert "No module named 'no_such_package'" in str(queue.wait(broken, timeout=PATIENCE).last_error)

    logs = run(LEASEHOLD, "logs", first, "--local", "--json", cwd=project)
    assert "counting" in [json.loads(line)["message"] for line in logs.stdout.splitlines()]
    assert deployments(running) == before
    with capsys.disabled():
        print(f"\nfrom a change to its result in the dev loop: {seconds:.1f} s (goal: 3 s); deployments: none")
