"""functions/jobs as a whole: which folders are job types, and what a deployment publishes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.job_folders.folder import load_job_folder, load_job_folders, registry_of
from leasehold.job_folders.job_toml import JobFolder
from leasehold.kernel.errors import InvalidJobFolderError, InvalidOptionError, LeaseholdError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.type_options import Webhook

if TYPE_CHECKING:
    from pathlib import Path


def add_folder(root: Path, name: str, *, settings: str | None = "concurrency = 1", handler: str | None = "") -> Path:
    folder = root / "functions" / "jobs" / name
    folder.mkdir(parents=True)
    if settings is not None:
        (folder / "job.toml").write_text(settings, "utf-8")
    if handler is not None:
        (folder / "handler.py").write_text(handler, "utf-8")
    return folder


def problems_of(root: Path) -> list[str]:
    with pytest.raises(InvalidJobFolderError) as raised:
        load_job_folders(root)
    return str(raised.value).splitlines()


def test_every_folder_is_a_job_type_named_like_it(tmp_path: Path):
    add_folder(tmp_path, "user_sync", settings="concurrency = 1\nmemory = 512")
    add_folder(tmp_path, "backup")
    folders = load_job_folders(tmp_path)
    assert [(folder.name, folder.path, folder.memory_mb) for folder in folders] == [
        ("backup", "functions/jobs/backup", 256),
        ("user_sync", "functions/jobs/user_sync", 512),
    ]


def test_what_tools_leave_behind_is_no_job_type(tmp_path: Path):
    add_folder(tmp_path, "backup")
    jobs = tmp_path / "functions" / "jobs"
    (jobs / "__init__.py").touch()
    (jobs / "__pycache__").mkdir()
    (jobs / ".idea").mkdir()
    (jobs / "removed" / "__pycache__").mkdir(parents=True)
    assert [folder.name for folder in load_job_folders(tmp_path)] == ["backup"]


def test_a_project_without_the_folder_is_told_how_to_make_it(tmp_path: Path):
    assert problems_of(tmp_path) == ["functions/jobs: there is no such folder. Run `leasehold new job <name>`."]


def test_the_problems_of_all_folders_are_told_together(tmp_path: Path):
    add_folder(tmp_path, "backup", settings='concurrency = 1\ntimeout = "20 minutes"')
    add_folder(tmp_path, "daily-summary")
    add_folder(tmp_path, "empty", settings=None, handler=None).joinpath("notes.md").touch()
    add_folder(tmp_path, "fine")
    add_folder(tmp_path, "torn", settings="timeout =\n")
    assert problems_of(tmp_path) == [
        'functions/jobs/backup/job.toml: timeout = "20 minutes": a Lambda function runs at most 900 seconds. '
        "Use 900 or less.",
        "functions/jobs/daily-summary: a job type is 1 to 64 characters of a-z, 0-9 and _, starting with a letter. "
        "Rename the folder.",
        "functions/jobs/empty/handler.py: there is no such file. Add it, or remove the folder.",
        "functions/jobs/empty/job.toml: there is no such file. Add it, e.g. with concurrency = 1 in it.",
        "functions/jobs/torn/job.toml: this is not TOML: Invalid value (at line 1, column 10). Correct it there.",
    ]


def test_a_file_that_is_not_utf8_is_told_so(tmp_path: Path):
    folder = add_folder(tmp_path, "backup")
    (folder / "job.toml").write_bytes(b'priority = "\xff"')
    (problem,) = problems_of(tmp_path)
    assert problem.startswith("functions/jobs/backup/job.toml: this is not TOML: 'utf-8' codec can't decode byte 0xff")


def test_a_sound_file_does_not_lose_its_lease_check_to_another_files_problem(tmp_path: Path):
    add_folder(tmp_path, "backup", settings="concurrency = 1\nmemory = 1")
    add_folder(tmp_path, "user_sync", settings="concurrency = 1\nlease = 60")
    assert len(problems_of(tmp_path)) == 2


def test_the_error_is_a_leasehold_error_that_carries_each_problem(tmp_path: Path):
    add_folder(tmp_path, "backup", settings="concurrency = 1\nmemory = 1")
    with pytest.raises(LeaseholdError) as raised:
        load_job_folders(tmp_path)
    assert isinstance(raised.value, InvalidJobFolderError)
    (problem,) = raised.value.problems
    assert (problem.file, problem.key, problem.value) == ("functions/jobs/backup/job.toml", "memory", 1)


def test_one_folder_can_be_loaded_by_name(tmp_path: Path):
    add_folder(tmp_path, "backup", settings="concurrency = 1\ntimeout = 5")
    add_folder(tmp_path, "torn", settings="timeout =")
    assert load_job_folder(tmp_path, "backup").job_type.timeout.total_seconds() == 5
    with pytest.raises(InvalidJobFolderError, match=r"functions/jobs/none/handler.py: there is no such file"):
        load_job_folder(tmp_path, "none")


def test_a_registry_names_the_function_of_each_type(tmp_path: Path):
    add_folder(tmp_path, "backup", settings="concurrency = 1")
    registry = registry_of(load_job_folders(tmp_path), {"backup": "prod-backup"}, shards=4, ended_index=False)
    assert (registry.shards, registry.ended_index) == (4, False)
    assert registry.job_type("backup").function == "prod-backup"
    assert registry.job_type("backup").concurrency == 1


def test_a_registry_for_handlers_in_this_process_needs_no_functions(tmp_path: Path):
    add_folder(tmp_path, "backup")
    assert registry_of(load_job_folders(tmp_path)).job_type("backup").function is None


def test_a_type_without_a_function_is_refused(tmp_path: Path):
    add_folder(tmp_path, "backup")
    with pytest.raises(InvalidOptionError, match=r"these job types have no function: got \['backup'\]"):
        registry_of(load_job_folders(tmp_path), {})


def test_the_names_of_the_system_s_own_types_are_taken(tmp_path: Path):
    add_folder(tmp_path, "webhook_delivery")

    (problem,) = problems_of(tmp_path)
    assert "this job type is the system's own. Rename the folder." in problem


def test_a_webhook_that_nothing_would_send_is_refused_at_deployment():
    told = JobFolder(job_type=JobType(name="told", webhook=Webhook(url="https://a.example")), path="told")

    with pytest.raises(InvalidOptionError, match="these job types have a webhook, and nothing sends it"):
        registry_of([told], {"told": "f"})
    assert "webhook_delivery" in registry_of([told], {"told": "f"}, webhook_sender="s").types
