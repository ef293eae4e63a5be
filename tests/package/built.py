"""The package as others get it: built once for all tests, and installed into environments of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")


@dataclass(frozen=True)
class Built:
    wheel: Path
    sdist: Path


def build(folder: Path) -> Built:
    """With the pinned hatchling of this environment: nothing is fetched."""
    run(UV, "build", "--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder, ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Built(wheel, sdist)


def environment(folder: Path, python: str | Path, *requirements: str) -> Path:
    """A fresh virtual environment with these packages and nothing else; answers with its Python."""
    run(UV, "venv", "--quiet", "--no-project", "--python", python, folder)
    run(UV, "pip", "install", "--quiet", "--python", folder, *requirements, cwd=folder)
    return folder / "bin" / "python"


def run(*command: str | Path, cwd: Path = ROOT, timeout: float = 50) -> str:
    """What it printed. Nothing of these tests' own Python reaches it, and nothing of somebody's AWS."""
    unwanted = ("AWS_", "PYTHON", "VIRTUAL_ENV", "PYTEST", "LEASEHOLD_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    inherited["UV_PYTHON_DOWNLOADS"] = "never"
    done = subprocess.run(command, cwd=cwd, env=inherited, capture_output=True, text=True, check=False, timeout=timeout)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def python_3_12() -> Path | None:
    """The oldest Python that is promised, where this machine has it: on the PATH, or among pyenv's."""
    on_path = shutil.which("python3.12")
    candidates = [*([Path(on_path)] if on_path else []), *Path.home().glob(".pyenv/versions/3.12*/bin/python")]
    # pyenv puts a stand-in on the PATH, which answers with an error unless its version is chosen.
    return next((each for each in candidates if _starts(each)), None)


def _starts(python: Path) -> bool:
    return subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0
