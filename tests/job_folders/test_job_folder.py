"""functions/jobs as a whole: which folders are job types, and what a deployment publishes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.job_folders.folder import deployed_types, load_job_folder, load_job_folders
from leasehold.job_folders.job_toml import JobFolder
from leasehold.job_folders.toml import InvalidJobFolderError
from leasehold.kernel.errors import InvalidOptionError, LeaseholdError
from leasehold.kernel.job_type import JobType
from leasehold.webhooks.address import Webhook

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
    types = deployed_types(load_job_folders(tmp_path), {"backup": "prod-backup"})
    assert (types["backup"].function, types["backup"].concurrency) == ("prod-backup", 1)


def test_a_type_without_a_function_is_refused(tmp_path: Path):
    add_folder(tmp_path, "backup")
    with pytest.raises(InvalidOptionError, match=r"these job types have no function: got \['backup'\]"):
        deployed_types(load_job_folders(tmp_path), {})


def test_the_names_of_the_system_s_own_types_are_taken(tmp_path: Path):
    add_folder(tmp_path, "webhook_delivery")

    (problem,) = problems_of(tmp_path)
    assert "this job type is the system's own. Rename the folder." in problem


def test_a_webhook_that_nothing_would_send_is_refused_at_deployment():
    told = JobFolder(job_type=JobType(name="told", webhook=Webhook(url="https://a.example")), path="told")

    with pytest.raises(InvalidOptionError, match="these job types have a webhook, and nothing sends it"):
        deployed_types([told], {"told": "f"})
    assert "webhook_delivery" in deployed_types([told], {"told": "f"}, webhook_sender="s")


def test_code_that_job_types_share_is_no_job_type_unless_it_says_so(tmp_path: Path):
    add_folder(tmp_path, "backup")
    add_folder(tmp_path, "common", settings=None, handler=None).joinpath("mail.py").write_text("")
    assert [folder.name for folder in load_job_folders(tmp_path)] == ["backup"]
    (tmp_path / "functions" / "jobs" / "common" / "job.toml").write_text("concurrency = 1")
    assert problems_of(tmp_path) == [
        "functions/jobs/common/handler.py: there is no such file. Add it, or remove the folder."
    ]


def test_a_type_whose_jobs_a_function_of_the_app_does_needs_no_handler(tmp_path: Path):
    add_folder(tmp_path, "render", handler=None)
    (folder,) = load_job_folders(tmp_path, without_code={"render"})
    assert folder.name == "render"
    assert problems_of(tmp_path) == [
        "functions/jobs/render/handler.py: there is no such file. Add it, or remove the folder."
    ]


def test_a_deployment_has_variables_of_its_own_and_its_name_in_names_and_arns(tmp_path: Path):
    add_folder(
        tmp_path,
        "backup",
        settings="""
            concurrency = 1
            [environment]
            BUCKET = "backups-${environment_name}"
            LEVEL = "fast"
            [environment.prod]
            LEVEL = "careful"
            [[permissions]]
            actions = ["s3:PutObject"]
            resources = ["arn:${AWS::Partition}:s3:::backups-${environment_name}/today"]
            [permissions.conditions.StringEquals]
            "aws:PrincipalTag/deployment" = "${environment_name}"
        """,
    )
    (folder,) = load_job_folders(tmp_path)
    dev, prod = folder.in_environment("dev"), folder.in_environment("prod")

    assert dev.environment == {"BUCKET": "backups-dev", "LEVEL": "fast"}
    assert prod.environment == {"BUCKET": "backups-prod", "LEVEL": "careful"}
    assert prod.permissions[0].resources == ("arn:${AWS::Partition}:s3:::backups-prod/today",)
    assert prod.permissions[0].conditions == {"StringEquals": {"aws:PrincipalTag/deployment": ("prod",)}}


def test_a_deployments_variables_are_checked_like_all_others(tmp_path: Path):
    add_folder(tmp_path, "backup", settings='concurrency = 1\n[environment.Prod]\nAWS_REGION = "x"\nN = 1')
    first, second, third, *_ = (each.partition("job.toml: ")[2] for each in problems_of(tmp_path))
    assert first.endswith("an environment's name has 1 to 32 of a-z, 0-9, - and _. Use a name like prod.")
    assert second == 'environment.Prod.AWS_REGION = "x": Lambda sets this variable itself. Use another name.'
    assert third == "environment.Prod.N = 1: a variable is text. Put quotes around it."


def test_a_handler_names_the_types_that_it_enqueues(tmp_path: Path):
    add_folder(tmp_path, "order", settings='concurrency = 1\nenqueues = ["pay", "ship"]\ndeduplicates = ["pay"]')
    add_folder(tmp_path, "ship")
    order, _ = load_job_folders(tmp_path)
    assert (order.enqueues, order.deduplicates) == (("pay", "ship"), ("pay",))

    add_folder(tmp_path, "unknown", settings='concurrency = 1\nenqueues = ["No Type"]')
    add_folder(tmp_path, "wrong", settings='concurrency = 1\nenqueues = ["pay"]\ndeduplicates = ["ship"]')
    assert [each.partition("job.toml: ")[2].partition(":")[0] for each in problems_of(tmp_path)] == [
        'enqueues[0] = "No Type"',
        'deduplicates = ["ship"]',
    ]
