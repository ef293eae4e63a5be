"""A job type is a folder: `functions/jobs/<job_type>/` with handler.py and job.toml."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from leasehold.job_folders.job_toml import JobFolder, read_job_toml
from leasehold.job_folders.toml import FolderProblem, InvalidJobFolderError
from leasehold.kernel.errors import InvalidJobTypeError, InvalidOptionError
from leasehold.kernel.job_type import LONGEST_INVOCATION, START_AND_RESERVE, parse_users_job_type
from leasehold.kernel.type_options import DELIVERY
from leasehold.operate.registration import free_code_line
from leasehold.webhooks.model import delivery_type

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import timedelta
    from pathlib import Path

    from leasehold.kernel.job_type import JobType
    from leasehold.schedules.model import Schedule

JOBS = PurePosixPath("functions/jobs")
# Job types that go wrong on purpose: only the reference app deploys them, to the local AWS, for demo and tests.
EXERCISES = PurePosixPath("functions/exercises")
SWITCH_ON = "Set `webhooks` of the JobQueue, or remove [webhook] from their job.toml."
HANDLER = "handler.py"
SETTINGS = "job.toml"
# Code that the job types beside it share: it is deployed with each of them.
SHARED = "common"


def load_job_folders(
    root: Path, place: PurePosixPath = JOBS, *, without_code: Collection[str] = ()
) -> tuple[JobFolder, ...]:
    """Every job type of the project at `root`, by name; all problems of all folders are raised together.

    without_code: job types that need no handler.py, since a function of the app does their jobs.
    """
    if not (root / place).is_dir():
        raise InvalidJobFolderError(
            [FolderProblem(str(place), "", None, "there is no such folder", "Run `leasehold new job <name>`.")]
        )
    problems: list[FolderProblem] = []
    found = [
        _load(root, place / path.name, problems, without_code)
        for path in sorted((root / place).iterdir())
        if _is_job_folder(path)
    ]
    folders = tuple(folder for folder in found if folder is not None)
    problems += _collisions(folders)
    if problems:
        raise InvalidJobFolderError(problems)
    return folders


def load_job_folder(root: Path, name: str, place: PurePosixPath = JOBS) -> JobFolder:
    """One job type of the project at `root`."""
    problems: list[FolderProblem] = []
    folder = _load(root, place / name, problems)
    if folder is None or problems:
        raise InvalidJobFolderError(problems)
    return folder


def deployed_types(
    folders: Iterable[JobFolder],
    function_names: Mapping[str, str],
    *,
    webhook_sender: str | None = None,
    webhooks_per_host: int | None = None,
) -> dict[str, JobType]:
    """The job types that a deployment of these folders publishes, each with its function.

    webhook_sender: the function that sends webhooks; None where there are none.
    webhooks_per_host: how many of them go to one host at once; None for no limit.
    """
    types = {folder.name: folder.job_type for folder in folders}
    if unnamed := sorted(types.keys() - function_names.keys()):
        raise InvalidOptionError(unnamed, "these job types have no function", "Name the function of each.")
    types = {name: replace(job_type, function=function_names[name]) for name, job_type in types.items()}
    told = sorted(name for name, job_type in types.items() if job_type.webhook and job_type.webhook.url)
    if webhook_sender is not None:
        types[DELIVERY] = delivery_type(webhook_sender, per_host=webhooks_per_host)
    elif told:
        raise InvalidOptionError(told, "these job types have a webhook, and nothing sends it", SWITCH_ON)
    return types


def schedules_of(folders: Iterable[JobFolder]) -> list[Schedule]:
    """The schedules that a deployment of these folders makes."""
    return [folder.schedule for folder in folders if folder.schedule is not None]


def function_timeout(job_type: JobType) -> timedelta:
    """How long Lambda lets an invocation live: a slow start is not taken from the handler's own time."""
    return min(job_type.longest_run + START_AND_RESERVE, LONGEST_INVOCATION)


def _collisions(folders: Sequence[JobFolder]) -> Iterator[FolderProblem]:
    """Two types with one code would share partitions, and with them rights."""
    owners: dict[int, str] = {}
    for folder in folders:
        code, first = folder.job_type.code, owners.setdefault(folder.job_type.code, folder.name)
        if first != folder.name:
            yield FolderProblem(
                f"{folder.path}/{SETTINGS}",
                "code",
                code,
                f"{first} has the same code, which names the partitions of a type's jobs",
                f"Write {free_code_line({each.job_type.code for each in folders})} for the newer of the two.",
            )


def _is_job_folder(path: Path) -> bool:
    """Leaves out what tools leave behind, such as a folder whose files git removed but whose cache stayed."""
    if not path.is_dir() or path.name.startswith((".", "_")):
        return False
    if path.name == SHARED and not (path / SETTINGS).exists():
        return False
    return any(each.name != "__pycache__" for each in path.iterdir())


def _load(
    root: Path, place: PurePosixPath, problems: list[FolderProblem], without_code: Collection[str] = ()
) -> JobFolder | None:
    path, settings = root / place, f"{place}/{SETTINGS}"
    try:
        parse_users_job_type(path.name)
    except InvalidJobTypeError as error:
        problems.append(FolderProblem(str(place), "", path.name, error.reason, "Rename the folder."))
        return None
    if path.name not in without_code and not (path / HANDLER).is_file():
        problems.append(
            FolderProblem(str(place / HANDLER), "", None, "there is no such file", "Add it, or remove the folder.")
        )
    try:
        values = tomllib.loads((path / SETTINGS).read_text("utf-8"))
        return replace(read_job_toml(path.name, str(place), values, file=settings), root=str(root))
    except FileNotFoundError:
        fix = "Add it, e.g. with concurrency = 1 in it."
        problems.append(FolderProblem(settings, "", None, "there is no such file", fix))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(FolderProblem(settings, "", None, f"this is not TOML: {error}", "Correct it there."))
    except InvalidJobFolderError as error:
        problems += error.problems
    return None
