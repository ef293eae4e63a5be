"""One local AWS that outlives the command that started it: its state is a folder, its life a process group."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import time
import urllib.request
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.kernel.errors import InvalidOptionError, ServerUnavailableError
from leasehold.local.aws.process import HOST, free_port, held_signals, is_local_aws, port_is_free, stop
from leasehold.local.tools import ministack_python, silent

if TYPE_CHECKING:
    from leasehold.local.tools import Say

# What an app is told of itself by `cdk deploy` onto a local AWS.
ENVIRONMENT = "local"
REGION = "us-east-1"
ACCOUNT = "000000000000"

_START_SECONDS = 30.0
_ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The keys are made for each start: whoever signs with them is this project, and nobody else is answered.

    The CDK command line keeps what it knows of an account per access key: none is ever used again.
    """

    pid: int
    port: int
    access_key: str
    secret_key: str = field(repr=False)

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def client_options(self) -> dict[str, str]:
        """What a client of boto3 needs to talk to it and to nothing else."""
        return {
            "endpoint_url": self.endpoint,
            "region_name": REGION,
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
        }

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs to talk to it and to nothing else."""
        return {
            **_inherited("AWS_"),
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }


class LocalAws:
    """The one of the project at `root`. `folder` holds everything of it: remove it, and it never was."""

    def __init__(self, root: Path) -> None:
        if not (root / "cdk.json").is_file():
            raise InvalidOptionError(
                str(root), "this folder has no cdk.json, so there is nothing to deploy", "Name the project with --root."
            )
        self.root = root
        self.folder = root / ".leasehold" / "local"
        self._record = self.folder / "instance.json"
        self._log = self.folder / "server.log"

    def running(self) -> Running | None:
        """The instance that this folder knows, if it is alive and answers."""
        try:
            known = Running(**json.loads(self._record.read_text()))
        except (OSError, ValueError, TypeError):
            return None
        return known if is_local_aws(known.pid) and _answers(known.endpoint) else None

    def up(self, port: int = 0, *, say: Say = silent) -> Running:
        """Start it, or find it started; `say` is told of what must be installed for it. 0 is a free port, each time."""
        found = self.running()
        if found is not None:
            return found
        self.down()
        command = ministack_command(self.root, say)
        port = port or free_port()
        if not port_is_free(port):
            raise ServerUnavailableError(
                "the local AWS",
                f"port {port} is taken by another program",
                f"Stop that program, or choose another port, e.g. --port {free_port()}.",
            )
        try:
            with held_signals():
                started = self._spawn(command, port)
                self._record.touch(mode=0o600)
                self._record.write_text(json.dumps(asdict(started)))
            self._wait_until_ready(started)
        except BaseException:
            self.down()
            raise
        return started

    def _wait_until_ready(self, started: Running) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(started.endpoint):
            if not is_local_aws(started.pid) or time.monotonic() > deadline:
                tail = "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])
                raise ServerUnavailableError("the local AWS", "it did not start", f"The end of its log:\n{tail}")
            time.sleep(0.05)

    def down(self) -> bool:
        """Stop it with all its functions, and remove what it left behind; False if there was nothing to stop."""
        stopped = False
        with suppress(OSError, ValueError, KeyError, TypeError):
            stopped = stop(int(json.loads(self._record.read_text())["pid"]))
        shutil.rmtree(self.folder, ignore_errors=True)
        return stopped

    def _spawn(self, command: list[str], port: int) -> Running:
        home = self.folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        access_key, secret_key = f"LOCAL{secrets.token_hex(8).upper()}", secrets.token_urlsafe(32)
        # Whoever signs with this key may do anything; functions may do what their roles allow, as on AWS.
        keys = {"AWS_ACCESS_KEY_ID": access_key, "AWS_SECRET_ACCESS_KEY": secret_key, "AUTH": "true"}
        # Without .pyc files every start of a function takes more than twice as long.
        inherited = _inherited("AWS_", "PYTHONDONTWRITEBYTECODE")
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=home,
                env={**inherited, **ministack_environment(port), **keys, "HOME": str(home), "TMPDIR": str(home)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        # The kernel shows its name a moment later; until then nobody could tell that it is the one to stop.
        while process.poll() is None and not is_local_aws(process.pid):
            time.sleep(0.001)
        return Running(pid=process.pid, port=port, access_key=access_key, secret_key=secret_key)


def _inherited(*unwanted: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}


def _answers(endpoint: str) -> bool:
    try:
        with urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=_ANSWER_SECONDS) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def ministack_command(root: Path, say: Say = silent) -> list[str]:
    """ministack as Leasehold starts it: by its own Python, with what it lacks of AWS (see the folder `ministack`)."""
    return [str(ministack_python(root.absolute(), say)), str(Path(__file__).parents[1] / "ministack")]


def ministack_environment(port: int) -> dict[str, str]:
    return {"BIND_HOST": HOST, "GATEWAY_PORT": str(port), "STATE_DIR": "state", "PERSIST_STATE": "0"}
