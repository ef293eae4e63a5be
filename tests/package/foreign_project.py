"""Somebody else's CDK app, deployed to a local AWS of its own: nothing of this repository's app is in it."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leasehold.local.aws.instance import LocalAws
from tests import servers
from tests.local_project import LEASEHOLD, ROOT, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from leasehold.local.aws.instance import Running


@contextmanager
def deployed(root: Path, files: Mapping[str, str], *, timeout: float = 550) -> Iterator[Running]:
    """The project with these files, deployed with `leasehold local deploy`; its tools are those of this repository."""
    python = ROOT / ".venv" / "bin" / "python"
    root.mkdir()
    for name, text in {"cdk.json": json.dumps({"app": f"{python} app.py"}), **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in (".venv-ministack", "node_modules"):
        (root / name).symlink_to(ROOT / name)
    try:
        done = run(LEASEHOLD, "local", "deploy", "--port", str(servers.free_port()), cwd=root, timeout=timeout)
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        running = LocalAws(root).running()
        assert running is not None
        yield running
    finally:
        LocalAws(root).down()
        shutil.rmtree(root, ignore_errors=True)
