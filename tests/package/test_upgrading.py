"""An upgrade in place and the way back, under load: no job is lost, and none runs twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from tests.package.built import ROOT, build

# It deploys three times, and takes minutes.
pytestmark = [pytest.mark.deep, pytest.mark.ministack, pytest.mark.xdist_group("package"), pytest.mark.timeout(900)]

JOBS = 500
WITHIN_SECONDS = 300
COMMAND = "from leasehold.cli.main import main; main()"
CONNECT = """
import sys, time
from pathlib import Path
from leasehold.local.aws.connection import open_queue
from leasehold.local.aws.instance import LocalAws
running = LocalAws(Path.cwd()).running()
assert running is not None
queue = open_queue(running)
"""
# A program of the user's that is upgraded last, if ever: it enqueues throughout, and keeps what was acknowledged.
PRODUCER = f"""{CONNECT}
for number in range({JOBS}):
    print(queue.enqueue("send_letter", {{"subject": str(number)}}).job_id, flush=True)
    time.sleep(0.1)
"""
LOOK = f"""{CONNECT}
import json
found = [queue.get(job_id) for job_id in sys.stdin.read().split()]
print(json.dumps([[str(job.status), len(job.runs), job.payload["subject"]] for job in found]))
"""
HANDLER = """
import os
from jobs.send_letter.payload import SendLetter
from leasehold import BaseJobHandler

class Handler(BaseJobHandler[SendLetter]):
    def handle(self, payload: SendLetter) -> None:
        file = os.open({ran!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{{payload.subject}}\\n".encode())
        os.close(file)
"""


def test_an_upgrade_and_its_rollback_under_load_lose_no_job_and_run_none_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = build(tmp_path / "dist").wheel
    present, newer = unpacked(wheel, tmp_path / "present"), next_release(wheel, tmp_path / "newer")
    ran = tmp_path / "ran"
    project = project_of(present, tmp_path, HANDLER.format(ran=str(ran)))
    began = time.monotonic()
    try:
        leasehold(present, project, "local", "deploy")
        producer = subprocess.Popen(
            [sys.executable, "-c", PRODUCER], cwd=project, env=environment(present), stdout=subprocess.PIPE, text=True
        )
        try:
            leasehold(newer, project, "local", "deploy")
            upgraded_with = lines_of(ran)
            parameters = look_for_parameter(newer, project)
            leasehold(present, project, "local", "deploy")
            rolled_back_with = lines_of(ran)
            acknowledged = producer.communicate(timeout=WITHIN_SECONDS)[0].split()
        finally:
            producer.kill()
        jobs = ended(acknowledged, present, project)
    finally:
        leasehold(present, project, "local", "down")

    assert parameters == 1, "the next release has a resource that the present one has not"
    assert 0 < upgraded_with < rolled_back_with < JOBS, "the load went on through both deployments"
    assert len(acknowledged) == JOBS
    assert Counter(status for status, _, _ in jobs) == {"completed": JOBS}
    assert {runs for _, runs, _ in jobs} == {1}
    assert Counter(ran.read_text().split()) == Counter(str(number) for number in range(JOBS))
    with capsys.disabled():
        print(
            f"\n{JOBS} jobs through an upgrade (after {upgraded_with}) and a rollback (after {rolled_back_with}): "
            f"{time.monotonic() - began:.0f} s"
        )


def unpacked(wheel: Path, folder: Path) -> Path:
    """As pip lays it out."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def next_release(wheel: Path, folder: Path) -> Path:
    """The release after this one, as the rules of UPGRADING.md allow it: it reads a further format, which it does not
    write yet, stores a field that nobody knows, and deploys one resource more."""
    unpacked(wheel, folder)
    change(folder / "leasehold/kernel/table.py", "READ_FORMATS = (1,)", "READ_FORMATS = (1, 2)")
    stored = '        "job_id": job.job_id,\n'
    change(folder / "leasehold/kernel/job.py", stored, f'{stored}        "shade": "blue",\n')
    change(
        folder / "leasehold/cdk/store.py",
        "        super().__init__(scope, construct_id)\n",
        "        super().__init__(scope, construct_id)\n"
        "        from aws_cdk import aws_ssm as ssm\n"
        '        ssm.StringParameter(self, "Shade", parameter_name="/shade", string_value="blue")\n',
    )
    return folder


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, f"{path.name} has {text.count(old)} times {old!r}"
    path.write_text(text.replace(old, new))


def project_of(release: Path, folder: Path, handler: str) -> Path:
    leasehold(release, folder, "init", "upgrading")
    project = folder / "upgrading"
    for tool in (".venv-ministack", "node_modules"):
        (project / tool).symlink_to(ROOT / tool)
    (project / "jobs/send_letter/handler.py").write_text(handler)
    return project


def leasehold(release: Path, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=folder,
        env=environment(release),
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_SECONDS,
    )
    assert done.returncode == 0, f"leasehold {' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def environment(release: Path) -> dict[str, str]:
    """That of a shell where this release is installed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LEASEHOLD_", "PYTEST"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]])
    return {**kept, "PATH": path, "PYTHONPATH": str(release), "LEASEHOLD_CACHE": str(release.parent / "cache")}


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def look_for_parameter(release: Path, project: Path) -> int:
    look = f"""{CONNECT}
import boto3
found = boto3.client("ssm", **running.client_options).get_parameters(Names=["/shade"])
print(len(found["Parameters"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=project, env=environment(release), capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def ended(job_ids: list[str], release: Path, project: Path) -> list[tuple[str, int, str]]:
    """The jobs once all have ended, or as they are after a while."""
    deadline = time.monotonic() + WITHIN_SECONDS
    while True:
        done = subprocess.run(
            [sys.executable, "-c", LOOK],
            input="\n".join(job_ids),
            cwd=project,
            env=environment(release),
            capture_output=True,
            text=True,
            check=True,
        )
        found = [tuple(each) for each in json.loads(done.stdout)]
        if all(status == "completed" for status, _, _ in found) or time.monotonic() > deadline:
            return found
        time.sleep(2)


def test_the_next_release_is_made_of_the_present_one(tmp_path: Path) -> None:
    """Its changes are of this release's own lines: a test that upgrades to nothing new would show nothing."""
    newer = next_release(build(tmp_path / "dist").wheel, tmp_path / "newer")

    check = "from leasehold.kernel.table import READ_FORMATS; import leasehold.cdk.store; print(READ_FORMATS)"
    done = subprocess.run(
        [sys.executable, "-c", check], env=environment(newer), capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "(1, 2)"
