"""What a local AWS is made of, pinned; installed into a project's own `.leasehold/tools` when it is first needed.

This repository's `make setup` installs the same beside its own packages, and that is used where it is there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.kernel.errors import ServerUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PINNED = Path(__file__).parent
_MINISTACK = _PINNED / "ministack.txt"
_PACKAGE, _LOCK = _PINNED / "package.json", _PINNED / "package-lock.json"
_READY = ".ready"
_TAIL_LINES = 15

type Say = Callable[[str], None]


def silent(_: str) -> None:
    """For who has nobody to tell."""


def ministack_python(root: Path, say: Say = silent) -> Path:
    """The Python whose environment has ministack, the local AWS."""
    from_setup = root / ".venv-ministack" / "bin" / "python"
    if from_setup.is_file():
        return from_setup
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    place = _place(root, "ministack", [_MINISTACK], version)
    python = place / "bin" / "python"
    if not (place / _READY).is_file():
        say(f"installing the local AWS into {place.relative_to(root)} (once; a few packages from PyPI)")
        uv = _program("uv", 'pip install "leasehold[cdk]" brings it.')
        _install([uv, "venv", "--quiet", "--clear", "--no-project", "--python", sys.executable, str(place)], place)
        packages = ["--quiet", "--compile-bytecode", "--require-hashes", str(_MINISTACK)]
        _install([uv, "pip", "sync", "--python", str(place), *packages], place)
        (place / _READY).touch()
    return python


def cdk_version() -> str:
    """Of the CDK's command line that Leasehold deploys with."""
    return str(json.loads(_PACKAGE.read_text())["dependencies"]["aws-cdk"])


def cdk_program(root: Path, say: Say = silent) -> Path:
    """The CDK's command line: the project's own if it has one."""
    own = root / "node_modules" / ".bin" / "cdk"
    if own.exists():
        return own
    place = _place(root, "cdk", [_PACKAGE, _LOCK])
    if not (place / _READY).is_file():
        say(f"installing the CDK command line into {place.relative_to(root)} (once; one package from npm)")
        npm = _program("npm", "It comes with Node.js, which the CDK needs in version 20 or newer.")
        place.mkdir(parents=True, exist_ok=True)
        for file in (_PACKAGE, _LOCK):
            shutil.copyfile(file, place / file.name)
        _install([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], place)
        (place / _READY).touch()
    return place / "node_modules" / ".bin" / "cdk"


def _place(root: Path, name: str, pinned: Sequence[Path], *more: str) -> Path:
    """Another folder for other versions, so that an upgrade of Leasehold installs what it needs."""
    digest = hashlib.sha256("\0".join([*(path.read_text() for path in pinned), *more]).encode()).hexdigest()
    return root / ".leasehold" / "tools" / f"{name}-{digest[:12]}"


def _program(name: str, fix: str) -> str:
    """Of the environment that this runs in, or else on the PATH."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which(name, path=places)
    if found is None:
        raise ServerUnavailableError(name, "its program was not found", fix)
    return found


def _install(command: list[str], place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    folder = place if place.is_dir() else place.parent
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-_TAIL_LINES:])
        name = Path(command[0]).name
        raise ServerUnavailableError(
            f"`{name} {command[1]}`", f"it ended with code {done.returncode}", f"It said:\n{tail}"
        )
