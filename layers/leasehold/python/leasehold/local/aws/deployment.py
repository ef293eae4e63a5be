"""Deploy the real, synthesised stacks to a local AWS with the unmodified CDK command line."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from leasehold.local.aws.cdk import run_cdk
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


def deploy(
    aws: LocalAws,
    running: Running,
    *,
    say: Callable[[str], None],
    hear: Callable[[str], None] = lambda _: None,
    force: bool = False,
) -> bool:
    """Bootstrap and deploy; False if what is deployed is up to date already. `hear` gets what the CDK says."""
    stamp = aws.folder / "deployed"
    fingerprint = f"{running.pid} {fingerprint_of(aws.root)}"
    if not force and stamp.exists() and stamp.read_text() == fingerprint:
        return False
    stamp.unlink(missing_ok=True)
    bootstrapped = aws.folder / "bootstrapped"
    if not bootstrapped.exists() or bootstrapped.read_text() != str(running.pid):
        say("preparing it for deployments (cdk bootstrap)")
        # Away from cdk.json: it needs no stacks, and would synthesise them all.
        run_cdk(aws, running, "bootstrap", f"aws://{ACCOUNT}/{REGION}", folder=aws.folder, hear=hear)
        bootstrapped.write_text(str(running.pid))
    say("synthesising and deploying the stacks (cdk deploy)")
    arguments = ("--all", "--require-approval", "never", "--context", f"stage={STAGE}")
    output = ("--output", str(aws.folder / "cdk.out"))
    run_cdk(aws, running, "deploy", *arguments, *output, folder=aws.root, hear=hear)
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
