"""Where the deployed code lies in this repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
FUNCTIONS = ROOT / "functions"
JOB_FOLDERS = FUNCTIONS / "jobs"
LIBRARY_LAYER = ROOT / "layers" / "leasehold"
DEPENDENCY_LAYER = ROOT / "layers" / "dependencies"

NOT_CODE = ["**/__pycache__/**", "**/__pycache__", "**/*.pyc", "**/job.toml"]
