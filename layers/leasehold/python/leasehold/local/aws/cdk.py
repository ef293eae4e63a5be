"""Run the CDK's command line, tell what it says while it works, and leave nothing of it behind."""

from __future__ import annotations

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
from leasehold.local.servers import held_signals
from leasehold.local.tools import cdk_program, silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.local.aws.instance import LocalAws, Running
    from leasehold.local.tools import Say

_TAIL_LINES = 30
_SILENCE_SECONDS = 5.0

type _Lines = queue.SimpleQueue[str | None]


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


def _read(process: subprocess.Popen[str]) -> _Lines:
    """Its lines as they come, and None at the end."""
    lines: _Lines = queue.SimpleQueue()

    def read() -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                lines.put(line.rstrip())
        lines.put(None)

    threading.Thread(target=read, name="cdk-output", daemon=True).start()
    return lines


def _listen(lines: _Lines, hear: Callable[[str], None]) -> list[str]:
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
