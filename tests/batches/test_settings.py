"""`[batch]` in a job.toml: what it says, what it refuses, and that the registry keeps it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.batches.model import Batch
from leasehold.job_folders.job_toml import read_job_toml
from leasehold.job_folders.toml import InvalidJobFolderError
from leasehold.kernel import registry_records
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.registry import Registry

if TYPE_CHECKING:
    from leasehold.job_folders.toml import FolderProblem


def read(batch: dict[str, object]) -> tuple[Batch | None, list[FolderProblem]]:
    values = {"concurrency": "unlimited", "batch": batch}
    try:
        folder = read_job_toml("index", "functions/jobs/index", values, file="job.toml")
    except InvalidJobFolderError as error:
        return None, list(error.problems)
    return folder.job_type.batch, []


def test_size_and_wait_are_read_and_the_header_alone_switches_it_on() -> None:
    assert read({"size": 25, "wait": "2s"}) == (Batch(size=25, wait=timedelta(seconds=2)), [])
    assert read({}) == (Batch(size=10), [])


@pytest.mark.parametrize("batch", [{"size": 1}, {"size": 101}, {"wait": "6m"}, {"sise": 3}])
def test_what_cannot_be_is_refused_with_its_key(batch: dict[str, object]) -> None:
    _, (problem,) = read(batch)

    assert problem.key == f"batch.{next(iter(batch))}"


@pytest.mark.parametrize("settings", [{"size": 1}, {"wait": timedelta(hours=1)}])
def test_a_program_is_refused_the_same(settings: dict[str, object]) -> None:
    with pytest.raises(InvalidOptionError):
        Batch(**settings)  # type: ignore[arg-type]


def test_the_registry_keeps_it() -> None:
    job_type = JobType(name="index", batch=Batch(size=25, wait=timedelta(seconds=2)))

    kept = registry_records.registry_of(registry_records.registry_record(Registry(types={"index": job_type})))

    assert kept.types["index"].batch == job_type.batch
