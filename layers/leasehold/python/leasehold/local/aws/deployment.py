"""Deploy the real, synthesised stacks to a local AWS with the unmodified CDK command line, and leave nothing of it."""

from __future__ import annotations

import hashlib
import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.kernel.errors import DeploymentError
from leasehold.local.aws.instance import ACCOUNT, ENVIRONMENT, REGION
from leasehold.local.aws.process import held_signals
from leasehold.local.tools import cdk_program, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leasehold.local.aws.instance import LocalAws, Running
    from leasehold.local.tools import Say

_TAIL_LINES = 30
_SILENCE_SECONDS = 5.0
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


def run_cdk(
    aws: LocalAws, running: Running, *arguments: str, folder: Path, hear: Callable[[str], None], say: Say = silent
) -> None:
    """`hear` gets each line as it comes, and an empty one now and then while there is none."""
    program = cdk_program(aws.root, say)
    process: subprocess.Popen[str] | None = None
    try:
        with held_signals():
            process = subprocess.Popen(
                [str(program), *arguments, "--no-notices", "--ci"],
                cwd=folder,
                env=_environment(aws, running),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                # It starts node, Python and uv: in a group of their own they can be ended together.
                start_new_session=True,
            )
            lines = _read(process)
        said = _listen(lines, hear)
        code = process.wait()
    except BaseException:
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        raise
    if code != 0:
        tail = "\n".join(said[-_TAIL_LINES:])
        raise DeploymentError(f"`cdk {arguments[0]}` failed with code {code}. It said last:\n{tail}")


def _read(process: subprocess.Popen[str]) -> queue.SimpleQueue[str | None]:
    """Its lines as they come, and None at the end."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                lines.put(line.rstrip())
        lines.put(None)

    threading.Thread(target=read, name="cdk-output", daemon=True).start()
    return lines


def _listen(lines: queue.SimpleQueue[str | None], hear: Callable[[str], None]) -> list[str]:
    said: list[str] = []
    while True:
        try:
            line = lines.get(timeout=_SILENCE_SECONDS)
        except queue.Empty:
            hear("")
            continue
        if line is None:
            return said
        said.append(line)
        hear(line)


def _environment(aws: LocalAws, running: Running) -> dict[str, str]:
    told = aws.environment(running)
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
