"""Deploy the real, synthesised stacks to a local AWS with the unmodified CDK command line, and leave nothing of it."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.kernel.errors import DeploymentError
from leasehold.local.aws.instance import ACCOUNT, ENVIRONMENT, REGION
from leasehold.local.aws.process import held_signals
from leasehold.local.tools import cdk_program, silent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.local.aws.instance import LocalAws, Running
    from leasehold.local.tools import Say

_TAIL_LINES = 30
_LOOK_EVERY_SECONDS = 0.2
# What tools leave behind in a project is no part of what is deployed.
LIBRARY = Path(__file__).parents[2]
_NOT_SOURCES = frozenset({"__pycache__", "cdk.out", "node_modules", "build", "dist", "tests"})


def deploy(aws: LocalAws, running: Running, *, say: Say, hear: Say = silent, force: bool = False) -> bool:
    """Bootstrap and deploy; False if what is deployed is up to date already. `hear` gets what the CDK says."""
    stamp = aws.folder / "deployed"
    fingerprint = f"{running.pid} {fingerprint_of(aws.root)}"
    if not force and stamp.exists() and stamp.read_text() == fingerprint:
        return False
    stamp.unlink(missing_ok=True)
    bootstrapped = aws.folder / f"bootstrapped-{running.pid}"
    if not bootstrapped.exists():
        say("preparing it for deployments (cdk bootstrap)")
        # Away from cdk.json: it needs no stacks, and would synthesise them all.
        run_cdk(aws, running, "bootstrap", f"aws://{ACCOUNT}/{REGION}", folder=aws.folder, hear=hear, say=say)
        bootstrapped.touch()
    say("synthesising and deploying the stacks (cdk deploy)")
    # Which environment it is deployed to, and that functions run on this machine.
    context = ("--context", f"environment_name={ENVIRONMENT}", "--context", "leasehold:local=true")
    arguments = ("--all", "--require-approval", "never", "--output", str(aws.folder / "cdk.out"), *context)
    run_cdk(aws, running, "deploy", *arguments, folder=aws.root, hear=hear, say=say)
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


def run_cdk(aws: LocalAws, running: Running, *arguments: str, folder: Path, hear: Say, say: Say = silent) -> None:
    """`hear` gets the newest line again and again, so that it can show how long nothing else has come."""
    program = cdk_program(aws.root, say)
    log = aws.folder / "cdk.log"
    process: subprocess.Popen[bytes] | None = None
    try:
        with held_signals(), log.open("wb") as output:
            process = subprocess.Popen(
                [str(program), *arguments, "--no-notices", "--ci"],
                cwd=folder,
                env=_environment(aws, running),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # It starts node, Python and uv: in a group of their own they can be ended together.
                start_new_session=True,
            )
        newest = ""
        with log.open(errors="replace") as lines:
            while process.poll() is None:
                newest = next((line for line in reversed(lines.readlines()) if line.strip()), newest)
                hear(newest)
                time.sleep(_LOOK_EVERY_SECONDS)
    except BaseException:
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        raise
    if process.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])
        raise DeploymentError(f"`cdk {arguments[0]}` failed with code {process.returncode}. It said last:\n{tail}")


def _environment(aws: LocalAws, running: Running) -> dict[str, str]:
    told = running.environment
    return {
        **told,
        # `python app.py` in a cdk.json is the Python that has Leasehold, whether its environment is activated or not.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), told.get("PATH", os.defpath)]),
        # Its cache of accounts and its own files stay in our folder.
        "HOME": str(aws.folder / "home"),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1",
        "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": "1",
    }
