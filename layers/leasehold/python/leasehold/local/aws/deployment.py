"""Deploy the real, synthesised stacks to a local AWS with the unmodified CDK command line."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.local.aws.cdk import run_cdk
from leasehold.local.aws.instance import ACCOUNT, ENVIRONMENT, REGION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leasehold.local.aws.instance import LocalAws, Running

# What an app is told: which environment it is deployed to, and that functions run on this machine.
_CONTEXT = (f"environment_name={ENVIRONMENT}", "leasehold:local=true")
# What tools leave behind in a project is no part of what is deployed.
LIBRARY = Path(__file__).parents[2]
_NOT_SOURCES = frozenset({"__pycache__", "cdk.out", "node_modules", "build", "dist", "tests"})


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
        run_cdk(aws, running, "bootstrap", f"aws://{ACCOUNT}/{REGION}", folder=aws.folder, hear=hear, say=say)
        bootstrapped.write_text(str(running.pid))
    say("synthesising and deploying the stacks (cdk deploy)")
    context = tuple(word for each in _CONTEXT for word in ("--context", each))
    arguments = ("--all", "--require-approval", "never", *context)
    output = ("--output", str(aws.folder / "cdk.out"))
    run_cdk(aws, running, "deploy", *arguments, *output, folder=aws.root, hear=hear, say=say)
    stamp.write_text(fingerprint)
    return True


def fingerprint_of(root: Path) -> str:
    """Of all that a deployment is made of: the project's files, and Leasehold itself."""
    digest = hashlib.sha256()
    for place in (root, LIBRARY):
        for path in sorted(_files(place)):
            digest.update(str(path.relative_to(place)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _files(place: Path) -> Iterator[Path]:
    """Without hidden folders and what tools leave behind; a link is not followed."""
    for path in place.iterdir():
        if path.name.startswith(".") or path.name in _NOT_SOURCES or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.suffix not in (".pyc", ".md") and path.is_file():
            yield path
