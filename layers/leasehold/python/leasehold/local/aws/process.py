"""The process of a local AWS: its port, whether it lives, and how it ends together with its functions."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "127.0.0.1"
_NAME = "ministack"
_STOP_SECONDS = 5.0
_HELD = (signal.SIGINT, signal.SIGTERM)


def port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """A loopback port that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


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


@contextmanager
def held_signals() -> Iterator[None]:
    """Within the block a request to stop waits; it comes through at its end.

    Python runs a signal's handler between any two steps, also in the middle of `Popen`: what the handler raises there
    leaves a running process whose number nobody has. The mask of the kernel would hold signals too, but the new
    process would inherit it.
    """
    # Only the main thread runs handlers; what is ignored stays so, also for the new process.
    is_main = threading.current_thread() is threading.main_thread()
    heard = [number for number in _HELD if signal.getsignal(number) not in {None, signal.SIG_IGN}] if is_main else []
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _frame: came.append(number)) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for request in dict.fromkeys(came):
            signal.raise_signal(request)
