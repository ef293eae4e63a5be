"""The project in a folder of its own, with a local AWS of its own: what a test changes there, nobody else sees."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
LEASEHOLD = Path(sys.executable).parent / "leasehold"

_COPIED = ("app.py", "cdk.json", "infra", "functions", "layers", "events")
_LINKED = (".venv", ".venv-ministack", "node_modules")
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.pyc")


@dataclass(frozen=True)
class LocalProject:
    root: Path

    @classmethod
    def make(cls, root: Path) -> LocalProject:
        root.mkdir(parents=True, exist_ok=True)
        for name in _COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, root / name, ignore=_NOT_COPIED)
            else:
                shutil.copy2(ROOT / name, root / name)
        for name in _LINKED:
            (root / name).symlink_to(ROOT / name)
        return cls(root)

    def leasehold(self, *arguments: str | Path, timeout: float = 280) -> subprocess.CompletedProcess[str]:
        """Run the real command in this project."""
        return run(LEASEHOLD, *arguments, cwd=self.root, timeout=timeout)


def run(
    *command: str | Path, cwd: Path = ROOT, timeout: float = 60, **environment: str
) -> subprocess.CompletedProcess[str]:
    # The command sets up an AWS of its own: nothing of the tests' settings reaches it.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, timeout=timeout, env={**inherited, **environment}
    )
