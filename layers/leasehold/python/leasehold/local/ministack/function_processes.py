"""Functions start no faster than the machine can start them, and what one unpacked and compiled serves the next.

ministack starts a process for every invocation that finds none free, all at once: a burst of 100 jobs is 100 Pythons
that each unpack their layers and compile them. Here so many start at once as there are cores, and an invocation waits
for a process that is starting or busy as an asynchronous one waits on AWS for its function to scale.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import zipfile
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# How long one waits before it looks again by itself: what is waited for tells everybody.
_LOOK_AGAIN_SECONDS = 1.0


def install() -> None:
    runtime: Any = import_module("ministack.core.lambda_runtime")
    functions: Any = import_module("ministack.services.lambda_svc")
    starts = Starts(runtime, at_once=os.process_cpu_count() or 1)
    functions.acquire_worker = partial(starts.acquire, runtime.acquire_worker)
    functions.release_worker = partial(starts.release, runtime.release_worker)
    spawn = runtime.Worker._spawn
    runtime.Worker._spawn = lambda worker: starts.spawn(spawn, worker)
    UnpackedOnce.folder = Path(tempfile.mkdtemp(prefix="ministack-lambda-unpacked-"))
    runtime.zipfile = SimpleNamespace(**{**vars(zipfile), "ZipFile": UnpackedOnce})


class Starts:
    """How many processes are starting, from the decision to start one until it is ready for its first event."""

    def __init__(self, runtime: Any, *, at_once: int) -> None:
        self._runtime = runtime
        self._at_once = at_once
        self._starting = 0
        self._changed = threading.Condition()

    def acquire(
        self, acquire: Callable[..., Any], name: str, config: Any, code: bytes, *, qualifier: str, **more: Any
    ) -> Any:
        key = self._runtime._worker_key(name, config, qualifier)
        with self._changed:
            while not self._has_free(key) and self._starting >= self._at_once:
                self._changed.wait(_LOOK_AGAIN_SECONDS)
            worker, how = acquire(name, config, code, qualifier=qualifier, **more)
            if how == "spawn" and type(worker) is self._runtime.Worker:  # those of a custom runtime start otherwise
                self._starting += 1
                worker.may_start = True
        return worker, how

    def release(self, release: Callable[..., None], worker: Any) -> None:
        release(worker)
        with self._changed:
            self._changed.notify_all()

    def spawn(self, spawn: Callable[..., None], worker: Any) -> None:
        with self._changed:
            # One whose process died, by an error or a timeout, starts again without being acquired anew.
            if not getattr(worker, "may_start", False):
                while self._starting >= self._at_once:
                    self._changed.wait(_LOOK_AGAIN_SECONDS)
                self._starting += 1
        try:
            spawn(worker)
        finally:
            with self._changed:
                self._starting -= 1
                worker.may_start = False
                self._changed.notify_all()

    def _has_free(self, key: str) -> bool:
        return any(not worker.in_use for worker in self._runtime._workers.get(key, []))


class UnpackedOnce(zipfile.ZipFile):
    """An archive is unpacked once, and found again by its content. Functions may not write there on AWS either."""

    folder: Path
    lock = threading.Lock()

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        """Let `path`, an empty folder, be the unpacked archive."""
        with Path(str(self.filename)).open("rb") as file:
            kept = self.folder / hashlib.file_digest(file, "sha256").hexdigest()
        with self.lock:
            if not kept.exists():
                partial = kept.with_suffix(".partial")
                shutil.rmtree(partial, ignore_errors=True)
                super().extractall(partial)
                partial.rename(kept)
        Path(path).rmdir()
        Path(path).symlink_to(kept)
