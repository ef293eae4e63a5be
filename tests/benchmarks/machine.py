"""Where and with what the figures were measured, without anything that names the machine or its user."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.benchmarks.engines import ROOT

_PACKAGES = ("aws-lambda-powertools", "boto3", "botocore", "leasehold", "pydantic")


def circumstances() -> dict[str, Any]:
    return {
        "measured_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": _git("rev-parse", "HEAD") or "unknown",
        # Figures of a tree that nobody else has are no figures of the commit.
        "has_uncommitted_changes": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "machine": {
            "cores": os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "processor": _processor(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
            **_pinned("layers/leasehold/python/leasehold/local/tools/ministack.in", "ministack"),
            **_pinned("requirements/celery.txt", "celery", "kombu"),
        },
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _pinned(file: str, *names: str) -> dict[str, str]:
    lines = (ROOT / file).read_text().split()
    pins = dict(line.split("==") for line in lines if line.count("==") == 1)
    return {name: pins.get(name, "unknown") for name in names}


def _git(*arguments: str) -> str:
    try:
        asked = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return asked.stdout.strip()
