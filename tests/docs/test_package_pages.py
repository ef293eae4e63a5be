"""docs/cdk.md and docs/job-toml.md say what the code says."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from docs import generate_package
from leasehold.job_folders.job_toml import read_job_toml
from tests.docs.markdown import code_blocks

if TYPE_CHECKING:
    from leasehold.job_folders.toml import FolderProblem


def test_the_keys_of_job_toml_and_their_defaults_are_those_of_the_code() -> None:
    assert set(generate_package.KEYS) == set(generate_package.found_keys())
    assert generate_package.JOB_TOML.read_text() == generate_package.job_toml_page(), "run `make docs`"


def test_the_props_are_those_of_the_constructs() -> None:
    assert generate_package.CDK.read_text() == generate_package.cdk_page(), "run `make docs`"


def test_the_example_of_a_job_toml_can_be_read() -> None:
    problems: list[FolderProblem] = []
    (text,) = code_blocks("docs/job-toml.md", "toml")
    read_job_toml("example", "jobs/example", tomllib.loads(text), problems, file="job.toml")
    assert problems == []
