"""The dev loop: changed code of job folders goes onto the local AWS by itself, without a deployment."""

from __future__ import annotations

import hashlib
import io
import json
import time
import zipfile
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING

from leasehold.aws import names as variables
from leasehold.aws.caller import ask
from leasehold.aws.job_logs import is_lambdas_own, log_lines, read_line
from leasehold.job_folders.folder import SETTINGS, SHARED
from leasehold.kernel.errors import DeploymentError
from leasehold.lean import dataclass
from leasehold.local.aws.connection import open_queue
from leasehold.local.aws.inspection import client, deployed_functions, looks
from leasehold.operate.registration import publish
from leasehold.schemas.publish import with_schemas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from leasehold.aws.job_logs import JobLogLine
    from leasehold.local.aws.inspection import DeployedFunction
    from leasehold.local.aws.instance import LocalAws, Running


@dataclass(slots=True)
class JobFunction:
    """A deployed handler, and the folder that its code comes from."""

    deployed: DeployedFunction
    folder: Path
    other_files: Mapping[str, bytes]
    seen: Mapping[Path, tuple[int, int]]

    @property
    def job_type(self) -> str:
        return self.folder.name

    def changed_files(self) -> set[Path]:
        """Those that are not as they were at the last look."""
        before, self.seen = self.seen, _state(self.folder)
        return {path for path in {*self.seen, *before} if self.seen.get(path) != before.get(path)}


class DevLoop:
    """`push` puts a type's code onto the local AWS; `looks` are the handlers' newest log lines, look by look."""

    def __init__(self, aws: LocalAws, running: Running) -> None:
        self._running = running
        self._client = cache(lambda service: client(running, service))
        self.functions = list(_found(aws, running))
        groups = [(each.job_type, each.deployed.log_group) for each in self.functions]
        logs = self._client("logs")
        self.looks = looks(lambda after: log_lines(logs, groups, startTime=after), after_millis=int(time.time() * 1000))

    def push(self, function: JobFunction) -> str | None:
        """Put the folder's code onto the local AWS, and ask the handler what its payloads look like now.

        Returns why its handler cannot start; its code is there all the same, and its jobs fail with this.
        """
        code = _zipped({**function.other_files, **_files(function.folder)})
        self._client("lambda").update_function_code(FunctionName=function.deployed.real_name, ZipFile=code)
        services = open_queue(self._running, function.deployed.queue_name or None).services
        registry = services.deployment.registry(fresh=True)
        try:
            codes = {function.job_type: hashlib.sha256(code).hexdigest()}
            asked = with_schemas(registry, codes, partial(ask, self._client("lambda")), services)
            if asked != registry:
                publish(asked, services)
        except DeploymentError as broken:
            return str(broken).rstrip().rpartition("\n")[2]
        return None


def _found(aws: LocalAws, running: Running) -> Iterator[JobFunction]:
    assets = _assets(aws.folder / "cdk.out")
    for each in deployed_functions(running):
        # functions.jobs.daily_summary.handler
        folder = aws.root.joinpath(*each.handler.split(".")[:-1])
        if each.handler and folder.is_dir():
            yield JobFunction(each, folder, _other_files(folder, assets.get(each.handler, folder)), _state(folder))


def _assets(cdk_out: Path) -> dict[str, Path]:
    """The folder that the CDK uploaded, by the module of the handler in it."""
    found = {}
    for template in cdk_out.rglob("*.template.json"):
        for each in json.loads(template.read_text("utf-8"))["Resources"].values():
            properties = each.get("Properties", {})
            handler = properties.get("Environment", {}).get("Variables", {}).get(variables.HANDLER)
            if handler:
                found[handler] = cdk_out / f"asset.{properties['Code']['S3Key'].removesuffix('.zip')}"
    return found


def _other_files(folder: Path, asset: Path) -> dict[str, bytes]:
    """What was deployed with the folder: packages that it requires. Those of the folder are read anew each time."""
    own = _files(folder)
    deployed = {path.relative_to(asset).as_posix(): path for path in asset.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in deployed.items() if name not in own}


def watch(loop: DevLoop, say: Callable[[str], None], show: Callable[[JobLogLine], None], *, every: float = 0.2) -> None:
    """Until it is interrupted."""
    while True:
        for each in loop.functions:
            changed = each.changed_files()
            if settings := {path for path in changed if path.name == SETTINGS}:
                say(f"{each.job_type}/{SETTINGS} has changed: its settings need `leasehold local deploy`")
            if changed - settings:
                began = time.monotonic()
                error = loop.push(each)
                how = f"cannot start: {error}" if error else "is there"
                say(f"{each.job_type}: the new code {how} ({time.monotonic() - began:.1f} s)")
        for line in next(loop.looks):
            if not is_lambdas_own(line.text):
                show(read_line(line))
        time.sleep(every)


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
