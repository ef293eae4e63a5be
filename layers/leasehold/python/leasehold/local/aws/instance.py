"""One local AWS that outlives the command that started it: its state is a folder, its life a process group."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from leasehold.domain.errors import ServerUnavailableError
from leasehold.local.servers import HOST, ministack_program, port_is_free

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_PORT = 4799
STAGE = "local"
REGION = "us-east-1"
ACCOUNT = "000000000000"
# The CDK command line keeps what it knows of an account per access key: this one is nobody else's.
ACCESS_KEY = "leasehold-local"

_START_SECONDS = 20.0
_STOP_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    pid: int
    port: int

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self.port}"


class LocalAws:
    """`folder` holds everything of it: remove it, and it never was."""

    def __init__(self, root: Path, folder: Path | None = None) -> None:
        self.root = root
        self.folder = folder or root / ".leasehold" / "local"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def running(self) -> Running | None:
        """The instance that this folder knows, if it is alive and answers."""
        try:
            known = Running(**json.loads(self._record.read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None
        return known if _is_alive(known.pid) and _answers(known.endpoint) else None

    def up(self, port: int = DEFAULT_PORT) -> Running:
        """Start it, or find it started."""
        found = self.running()
        if found is not None:
            return found
        self.down()
        if not port_is_free(port):
            raise ServerUnavailableError(
                "the local AWS",
                f"port {port} is taken by another program",
                f"Stop that program, or choose another port: leasehold local up --port {port + 1}.",
            )
        started = Running(pid=self._spawn(port), port=port)
        self._record.write_text(json.dumps(asdict(started)))
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(started.endpoint):
            if not _is_alive(started.pid) or time.monotonic() > deadline:
                tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
                self.down()
                raise ServerUnavailableError("the local AWS", "it did not start", f"The end of its log:\n{tail}")
            time.sleep(0.05)
        return started

    def down(self) -> bool:
        """Stop it with all its functions, and remove what it left behind; False if there was nothing to stop."""
        stopped = False
        with suppress(FileNotFoundError, ValueError, KeyError):
            pid = int(json.loads(self._record.read_text())["pid"])
            stopped = _stop(pid)
        shutil.rmtree(self.folder, ignore_errors=True)
        return stopped

    def environment(self, endpoint: str) -> dict[str, str]:
        """What a program needs to talk to it and to nothing else."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {
            **inherited,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": ACCESS_KEY,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ENDPOINT_URL_S3": endpoint,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    @property
    def _record(self) -> Path:
        return self.folder / "instance.json"

    def _spawn(self, port: int) -> int:
        home = self.folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        program = ministack_program(self.root)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        settings = {"BIND_HOST": HOST, "GATEWAY_PORT": str(port), "STATE_DIR": "state", "PERSIST_STATE": "0"}
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                [str(program)],
                cwd=home,
                env={**inherited, **settings, "HOME": str(home), "TMPDIR": str(home)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return process.pid


def _answers(endpoint: str) -> bool:
    try:
        with urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def _is_alive(pid: int) -> bool:
    with suppress(ChildProcessError):
        # If it is our own child, a dead one stays a zombie until somebody asks.
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _stop(pid: int) -> bool:
    if not _is_alive(pid):
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
        deadline = time.monotonic() + _STOP_SECONDS
        while _is_alive(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
    return True
