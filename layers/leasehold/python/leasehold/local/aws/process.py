"""The process of a local AWS: whether it lives, and how it ends together with its functions."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

_NAME = "ministack"
_STOP_SECONDS = 5.0


def is_local_aws(pid: int) -> bool:
    """Whether this is the process of a local AWS: after a restart of the machine the number may be another's."""
    with suppress(ChildProcessError):
        # If it is our own child, a dead one stays a zombie until somebody asks.
        os.waitpid(pid, os.WNOHANG)
    return _NAME in _command(pid)


def stop(pid: int) -> bool:
    """End it and the functions in its process group, politely first; False if there was nothing to end."""
    if not is_local_aws(pid):
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
        deadline = time.monotonic() + _STOP_SECONDS
        while is_local_aws(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
    return True


def _command(pid: int) -> str:
    """The command line of a process; empty for one that is gone, or dead and not yet collected."""
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
        except OSError:
            return ""
    listed = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return listed.stdout
