"""`leasehold init` and `new`: a project of one's own, which deploys a queue, and another job type in it."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from leasehold.cli.exits import told_plainly
from leasehold.cli.options import HERE, Root

if TYPE_CHECKING:
    from collections.abc import Mapping
    from string import Template

app = typer.Typer(no_args_is_help=True, help="Start something new from a template.")
init_app = typer.Typer()

FIRST_JOB = "send_letter"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


@init_app.command()
def init(
    name: Annotated[str, Argument(help="The project's name, which its folder and its queue get: my-jobs.")],
    root: Annotated[Path, Option(help="Where the folder is made.")] = HERE,
) -> None:
    """Make a new project in the folder NAME: a CDK app with a queue, one job type, and its test."""
    with told_plainly("No project was made: "):
        made = write_project(name, root)
    for path in made:
        print(f"made {path.relative_to(root)}")
    print(f"\nNext, on this machine and without an AWS account:\n  cd {name} && leasehold local deploy")
    print(f"  leasehold enqueue {FIRST_JOB} --local --payload '{{\"subject\":\"ada\"}}' --reason 'to see it work'")


@app.command()
def job(name: Annotated[str, Argument(help="The job type, e.g. daily_summary.")], root: Root = HERE) -> None:
    """Make jobs/NAME with a payload model, a handler and its settings, and a test for it.

    In functions/jobs where a project has that, or no folder jobs.
    """
    with told_plainly("No job type was made: "):
        made = write_job(name, root)
    for path in made:
        print(f"made {path.relative_to(root)}")
    print("Say in the handler what a job does, and in job.toml what it needs; then deploy.")


def write_project(name: str, root: Path) -> list[Path]:
    """The files of a new project; nothing is written unless its folder is new, or empty."""
    from importlib.metadata import version

    from leasehold.cli.project_templates import PROJECT
    from leasehold.kernel.errors import InvalidOptionError
    from leasehold.local.tools import cdk_version

    if not _NAME.fullmatch(name):
        raise InvalidOptionError(
            name, "a project's name is 1 to 40 characters of a-z, 0-9 and -, starting with a letter", "Choose another."
        )
    project = root / name
    if project.exists() and (not project.is_dir() or any(project.iterdir())):
        raise InvalidOptionError(name, "this is there already, and not empty", "Choose another name.")
    words = {
        **{"name": name, "class_name": _camel_case(name.split("-")), "job": FIRST_JOB},
        **{"version": version("leasehold"), "cdk_version": cdk_version()},
    }
    made = _write({project / file: template for file, template in PROJECT.items()}, words)
    # So that the job type is made there.
    (project / "jobs").mkdir()
    return [*made, *write_job(FIRST_JOB, project)]


def write_job(name: str, root: Path) -> list[Path]:
    """The files of a new job type; nothing is written unless all of them can be new."""
    from leasehold.cli.project_templates import JOB, TEST
    from leasehold.kernel.errors import InvalidOptionError
    from leasehold.kernel.job_type import parse_users_job_type

    class_name = _class_name(parse_users_job_type(name))
    place, tests = _places(root)
    folder, test = root / place / name, root / tests / f"test_{name}.py"
    if not root.is_dir():
        raise InvalidOptionError(str(root), "there is no such folder", "Name the project's folder with --root.")
    for path in (folder, test):
        if path.exists():
            raise InvalidOptionError(
                str(path.relative_to(root)), "this is there already", "Choose another name, or remove it first."
            )
    files = {**{folder / file: template for file, template in JOB.items()}, test: TEST}
    words = {"place": place, "package": place.replace("/", "."), "levels": len(Path(tests).parts)}
    return [*_write(files, {"name": name, "class_name": class_name, **words}), *_findable(root)]


def _write(files: Mapping[Path, Template], words: Mapping[str, object]) -> list[Path]:
    for path, template in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(template.substitute(words), "utf-8")
    return list(files)


def _findable(root: Path) -> list[Path]:
    """What makes plain `pytest` import from the project's folder, where nothing does yet."""
    settings, conftest = root / "pyproject.toml", root / "conftest.py"
    if conftest.exists() or (settings.is_file() and "pythonpath" in settings.read_text("utf-8")):
        return []
    conftest.write_text('"""That it is here lets pytest import from this folder."""\n', "utf-8")
    return [conftest]


def _places(root: Path) -> tuple[str, str]:
    """Where a project's job types are, and their tests: as `leasehold init` lays it out, or as this repository does."""
    if (root / "jobs").is_dir() and not (root / "functions" / "jobs").is_dir():
        return "jobs", "tests"
    return "functions/jobs", "tests/functions/jobs"


def _class_name(name: str) -> str:
    """
    >>> _class_name("daily_summary")
    'DailySummary'
    """
    from leasehold.kernel.errors import InvalidJobTypeError

    class_name = _camel_case(name.split("_"))
    if keyword.iskeyword(name) or class_name == "BaseJob":
        raise InvalidJobTypeError(
            name, "Python or Leasehold uses this name itself", "Say more, e.g. what the job works on."
        )
    return class_name


def _camel_case(words: list[str]) -> str:
    return "".join(word.capitalize() for word in words)
