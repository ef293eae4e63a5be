"""Reads a job.toml as a test writes it."""

from __future__ import annotations

import re
import tomllib

from leasehold.job_folders.job_toml import JobFolder, read_job_toml
from leasehold.job_folders.toml import InvalidJobFolderError

FILE = "functions/jobs/backup/job.toml"


def read(text: str) -> tuple[JobFolder | None, list[str]]:
    """Every file says how many jobs may run at once: those that are about something else need not."""
    text = text if re.search(r"^\s*concurrency =", text, re.MULTILINE) else f'concurrency = "unlimited"\n{text}'
    try:
        return read_job_toml("backup", "functions/jobs/backup", tomllib.loads(text), file=FILE), []
    except InvalidJobFolderError as error:
        return None, [str(problem) for problem in error.problems]


def read_well(text: str) -> JobFolder:
    folder, problems = read(text)
    assert problems == []
    assert folder is not None
    return folder
