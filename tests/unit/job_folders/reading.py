"""Reads a job.toml as a test writes it."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from leasehold.job_folders.job_toml import JobFolder, read_job_toml

if TYPE_CHECKING:
    from leasehold.job_folders.toml import FolderProblem

FILE = "functions/jobs/backup/job.toml"


def read(text: str) -> tuple[JobFolder, list[str]]:
    """Every file says how many jobs may run at once: those that are about something else need not."""
    text = text if re.search(r"^\s*concurrency =", text, re.MULTILINE) else f'concurrency = "unlimited"\n{text}'
    problems: list[FolderProblem] = []
    folder = read_job_toml("backup", "functions/jobs/backup", tomllib.loads(text), problems, file=FILE)
    return folder, [str(problem) for problem in problems]


def read_well(text: str) -> JobFolder:
    folder, problems = read(text)
    assert problems == []
    return folder
