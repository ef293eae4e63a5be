"""Deploy the real, synthesised stacks to a local AWS with the unmodified CDK command line."""

from __future__ import annotations

import hashlib
import subprocess
from typing import TYPE_CHECKING

from leasehold.domain.errors import DeploymentError
from leasehold.local.aws.instance import ACCOUNT, REGION, STAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leasehold.local.aws.instance import LocalAws, Running

JOBS_TABLE = f"leasehold-{STAGE}-jobs"
DEAD_LETTERS_TABLE = f"leasehold-{STAGE}-dead-letters"
POLLER = f"leasehold-{STAGE}-poller"

# What the stacks are made of; unchanged, a second deployment has nothing to do.
_SOURCES = ("app.py", "cdk.json", "infra", "functions", "layers")
_TAIL_LINES = 30


def deploy(aws: LocalAws, running: Running, *, say: Callable[[str], None], force: bool = False) -> bool:
    """Bootstrap and deploy; False if what is deployed is up to date already."""
    stamp = aws.folder / "deployed"
    fingerprint = f"{running.pid} {fingerprint_of(aws.root)}"
    if not force and stamp.exists() and stamp.read_text() == fingerprint:
        return False
    stamp.unlink(missing_ok=True)
    bootstrapped = aws.folder / "bootstrapped"
    if not bootstrapped.exists() or bootstrapped.read_text() != str(running.pid):
        say("preparing it for deployments (cdk bootstrap)")
        # Away from cdk.json: it needs no stacks, and would synthesise them all.
        _cdk(aws, running, "bootstrap", f"aws://{ACCOUNT}/{REGION}", folder=aws.folder)
        bootstrapped.write_text(str(running.pid))
    say("synthesising and deploying the stacks (cdk deploy)")
    _cdk(
        *(aws, running, "deploy", "--all", "--require-approval", "never", "--context", f"stage={STAGE}"),
        *("--output", str(aws.folder / "cdk.out")),
        folder=aws.root,
    )
    stamp.write_text(fingerprint)
    return True


def fingerprint_of(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(_files(root)):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    for source in _SOURCES:
        place = root / source
        if place.is_file():
            yield place
        yield from (each for each in place.rglob("*") if each.is_file() and "__pycache__" not in each.parts)


def _cdk(aws: LocalAws, running: Running, *arguments: str, folder: Path) -> None:
    program = aws.root / "node_modules" / ".bin" / "cdk"
    if not program.exists():
        raise DeploymentError("the CDK command line is not installed. Run `make setup`.")
    command = [str(program), *arguments, "--no-notices", "--ci"]
    environment = {
        **aws.environment(running.endpoint),
        # Its cache of accounts and its own files stay in our folder.
        "HOME": str(aws.folder / "home"),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1",
        "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": "1",
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        output = "\n".join((done.stdout + done.stderr).splitlines()[-_TAIL_LINES:])
        raise DeploymentError(f"`cdk {arguments[0]}` failed with code {done.returncode}:\n{output}")
