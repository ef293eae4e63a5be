"""The dev loop: changed code of job folders goes onto the local AWS by itself, without a deployment."""

from __future__ import annotations

import hashlib
import io
import time
import urllib.request
import zipfile
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from leasehold.aws import names as variables
from leasehold.aws.caller import asking
from leasehold.aws.job_logs import is_lambdas_own, read_line
from leasehold.job_folders.folder import SETTINGS, SHARED
from leasehold.kernel.errors import DeploymentError
from leasehold.lean import dataclass
from leasehold.local.aws.connection import open_queue
from leasehold.local.aws.inspection import Tail, client, deployed_functions, lines_of
from leasehold.operate.registration import publish
from leasehold.schemas.publish import with_schemas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from leasehold.aws.job_logs import JobLogLine
    from leasehold.local.aws.instance import Running


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFunction:
    """A deployed handler, and the folder that its code comes from."""

    job_type: str
    real_name: str
    queue_name: str | None
    log_group: str
    folder: Path


class DevLoop:
    """`changed` looks at the files, `push` puts a type's code onto the local AWS, `lines` are the newest log lines."""

    def __init__(self, running: Running, root: Path) -> None:
        self._running = running
        self._client = cache(lambda service: client(running, service))
        self.functions = list(_found(running, root))
        self._base = {each.job_type: self._other_files(each) for each in self.functions}
        self._seen = {each.job_type: _state(each.folder) for each in self.functions}
        groups = [(each.job_type, each.log_group) for each in self.functions]
        logs = self._client("logs")
        self._tail = Tail(lambda after: lines_of(logs, groups, after), after_millis=int(time.time() * 1000))

    def changed(self) -> tuple[list[JobFunction], list[Path]]:
        """The functions whose code has changed since the last look, and settings that only a deployment can set."""
        functions, settings = [], []
        for each in self.functions:
            now, before = _state(each.folder), self._seen[each.job_type]
            if now == before:
                continue
            self._seen[each.job_type] = now
            differ = {path for path in {*now, *before} if now.get(path) != before.get(path)}
            settings += [path for path in differ if path.name == SETTINGS]
            if any(path.name != SETTINGS for path in differ):
                functions.append(each)
        return functions, settings

    def push(self, function: JobFunction) -> str | None:
        """Put the folder's code onto the local AWS, and ask the handler what its payloads look like now.

        Returns why its handler cannot start; its code is there all the same, and its jobs fail with this.
        """
        code = _zipped({**self._base[function.job_type], **_files(function.folder)})
        self._client("lambda").update_function_code(FunctionName=function.real_name, ZipFile=code)
        services = open_queue(self._running, function.queue_name).services
        registry = services.deployment.registry(fresh=True)
        try:
            codes = {function.job_type: hashlib.sha256(code).hexdigest()}
            asked = with_schemas(registry, codes, asking(self._client("lambda")), services)
            if asked != registry:
                publish(asked, services)
        except DeploymentError as broken:
            return str(broken).rstrip().rpartition("\n")[2]
        return None

    def lines(self) -> Iterator[JobLogLine]:
        """What the handlers logged since the last look, without the lines about the life of their functions."""
        for line in self._tail.new():
            if not is_lambdas_own(line.text):
                yield read_line(line.function, line.at_millis, line.text)

    def _other_files(self, function: JobFunction) -> dict[str, bytes]:
        """What was deployed with the folder: packages that it requires. Those of the folder are read anew each time."""
        if not _needs_packages(function.folder):
            return {}
        address = self._client("lambda").get_function(FunctionName=function.real_name)["Code"]["Location"]
        with zipfile.ZipFile(io.BytesIO(self._download(address.partition("?")[0]))) as deployed:
            own = set(_files(function.folder))
            return {name: deployed.read(name) for name in deployed.namelist() if name not in own}

    def _download(self, address: str) -> bytes:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials

        path = address.partition("://")[2].partition("/")[2]
        url = f"{self._running.endpoint}/{path}"
        request = AWSRequest("GET", url)
        keys = Credentials(self._running.access_key, self._running.secret_key)
        SigV4Auth(keys, "lambda", self._running.client_options["region_name"]).add_auth(request)
        with urllib.request.urlopen(urllib.request.Request(url, headers=dict(request.headers))) as answer:
            content: bytes = answer.read()
        return content


def _found(running: Running, root: Path) -> Iterator[JobFunction]:
    for each in deployed_functions(running):
        # functions.jobs.daily_summary.handler
        folder = root.joinpath(*each.handler.split(".")[:-1])
        if each.handler and folder.is_dir():
            yield JobFunction(
                job_type=folder.name,
                real_name=each.real_name,
                queue_name=each.queue_name or None,
                log_group=each.log_group,
                folder=folder,
            )


def watch(loop: DevLoop, say: Callable[[str], None], show: Callable[[JobLogLine], None], *, every: float = 0.2) -> None:
    """Until it is interrupted."""
    while True:
        functions, settings = loop.changed()
        for path in settings:
            say(f"{path.parent.name}/{path.name} has changed: its settings need `leasehold local deploy`")
        for each in functions:
            began = time.monotonic()
            error = loop.push(each)
            how = f"cannot start: {error}" if error else "is there"
            say(f"{each.job_type}: the new code {how} ({time.monotonic() - began:.1f} s)")
        for line in loop.lines():
            show(line)
        time.sleep(every)


def _needs_packages(folder: Path) -> bool:
    import tomllib

    settings = folder / SETTINGS
    with suppress(OSError, ValueError):
        return bool(tomllib.loads(settings.read_text("utf-8")).get("requirements"))
    return False


def _paths(folder: Path) -> Iterator[tuple[str, Path]]:
    """Files by their names in the function: its folder, and what is shared, beside it."""
    shared = folder.parent / SHARED
    places = {"": folder} if (shared / SETTINGS).exists() else {"": folder, f"{variables.BESIDE}/{SHARED}/": shared}
    for prefix, place in places.items():
        for path in sorted(place.rglob("*")):
            name = path.relative_to(place)
            if path.is_file() and not any(part.startswith(".") or part == "__pycache__" for part in name.parts):
                yield f"{prefix}{name.as_posix()}", path


def _files(folder: Path) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in _paths(folder)}


def _state(folder: Path) -> Mapping[Path, tuple[int, int]]:
    """Of all files, when they were written and how long they are."""
    found = {}
    for _, path in _paths(folder):
        with suppress(OSError):
            known = path.stat()
            found[path] = (known.st_mtime_ns, known.st_size)
    return found


def _zipped(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(name, content)
    return packed.getvalue()
