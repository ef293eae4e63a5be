"""Real engines on this machine, each running for as long as a `with` block.

    with dynoxide() as server:
        client = boto3.client("dynamodb", endpoint_url=server.endpoint)

The demo and the end-to-end tests use a local AWS that stays, see local/aws.
"""

from __future__ import annotations

import atexit
import http.client
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from leasehold.kernel.errors import ServerUnavailableError
from leasehold.local.aws.instance import ministack_command, ministack_environment
from leasehold.local.aws.process import HOST, free_port, held_signals, port_is_free

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["HOST", "Server", "dynoxide", "dynoxide_is_built_for_this_machine", "free_port", "ministack", "port_is_free"]

_START_SECONDS = 20.0
_STOP_SECONDS = 5.0
_POLL_SECONDS = 0.02
_LOG_TAIL_LINES = 20


class Server:
    """A process that listens on one loopback port.

    It works in a temporary folder of its own (working directory, HOME and TMPDIR), so that whatever it leaves
    behind goes away with it; and in a process group of its own, so that its children do too.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        port: int,
        env: Mapping[str, str] | None = None,
        health_path: str | None = None,
    ) -> None:
        self.name = name
        self.port = port
        self._command = list(command)
        self._env = dict(env or {})
        self._health_path = health_path
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The process id while the server runs."""
        return self._process.pid if self._process else None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the process and return once it answers."""
        if self._process is not None:
            return
        prefix = f"leasehold-{self.name}-"
        self._folder = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
        # A caller that exits without leaving its `with` block must not leave a server behind.
        atexit.register(self.stop)
        try:
            with held_signals():
                self._process = self._spawn(Path(self._folder.name))
            self._wait_until_ready(self._process)
        except OSError as error:
            self.stop()
            raise ServerUnavailableError(self.name, str(error), "Run `make clean setup`.") from error
        except BaseException:
            self.stop()
            raise

    def _spawn(self, folder: Path) -> subprocess.Popen[bytes]:
        # The caller's AWS settings stay out: a local engine has no business with real credentials.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        with self._log_file(folder).open("wb") as log:
            return subprocess.Popen(
                self._command,
                cwd=folder,
                env={**inherited, "HOME": str(folder), "TMPDIR": str(folder), **self._env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if process.poll() is not None:
                break
            if time.monotonic() > deadline:
                raise self._did_not_start(f"no answer on {self.endpoint} within {_START_SECONDS:.0f} s")
            time.sleep(_POLL_SECONDS)
        # Asked even after an answer: it may have come from another process that took the port first.
        if process.poll() is not None:
            raise self._did_not_start(f"it exited with code {process.returncode}")

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=1)
        try:
            connection.connect()
            if self._health_path is None:
                return True
            connection.request("GET", self._health_path)
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _did_not_start(self, reason: str) -> ServerUnavailableError:
        fix = f"The end of its log:\n{self.log_tail() or '(empty)'}"
        return ServerUnavailableError(self.name, reason, fix)

    def log_tail(self, lines: int = _LOG_TAIL_LINES) -> str:
        """The last lines that the server printed, while it runs."""
        if self._folder is None:
            return ""
        with suppress(FileNotFoundError):
            text = self._log_file(Path(self._folder.name)).read_text(errors="replace")
            return "\n".join(text.splitlines()[-lines:])
        return ""

    def stop(self) -> None:
        """End the process and its children, politely first, and remove its folder. Twice is harmless."""
        process, self._process = self._process, None
        if process is not None:
            _signal_group(process, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
            # Also when it ended politely: its children, in the same group, may have ignored the request.
            _signal_group(process, signal.SIGKILL)
            process.wait()
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.cleanup()
        atexit.unregister(self.stop)

    @staticmethod
    def _log_file(folder: Path) -> Path:
        return folder / "server.log"


def dynoxide(*, port: int | None = None, database: Path | None = None, root: Path | None = None) -> Server:
    """A DynamoDB, in memory unless `database` names a file; a free port unless `port` names one."""
    binary = _find("node_modules/@dynoxide/linux-x64/dynoxide", root) or shutil.which("dynoxide")
    if binary is None and not dynoxide_is_built_for_this_machine():
        reason = f"there is no build for {platform.system()} {platform.machine()}"
        raise ServerUnavailableError("dynoxide", reason, "Use a Linux x86_64 machine.")
    if binary is None:
        raise ServerUnavailableError("dynoxide", "its program was not found", "Run `make setup`.")
    port = port or free_port()
    storage = ["--db-path", str(database.absolute())] if database else []
    return Server("dynoxide", [str(binary), "--host", HOST, "--port", str(port), *storage], port=port)


def dynoxide_is_built_for_this_machine() -> bool:
    return platform.system() == "Linux" and platform.machine() == "x86_64"


def ministack(*, port: int | None = None, root: Path | None = None) -> Server:
    """A local AWS with nothing in it; a free port unless `port` names one."""
    found = _find(".venv-ministack/bin/ministack", root)
    if found is None:
        raise ServerUnavailableError("ministack", "its program was not found", "Run `make setup`.")
    command = ministack_command(found.parents[2])
    port = port or free_port()
    return Server("ministack", command, port=port, env=ministack_environment(port), health_path="/_ministack/health")


def _find(relative: str, root: Path | None) -> Path | None:
    """The file in `root`, or else in the working directory or the nearest folder above it that has it."""
    working = Path.cwd()
    # Absolute, because the server runs in another folder than its caller.
    folders = [root.absolute()] if root else [working, *working.parents]
    return next((folder / relative for folder in folders if (folder / relative).is_file()), None)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # The group's id is the process's own: it was started as the leader of a new session.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
