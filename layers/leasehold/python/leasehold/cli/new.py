"""`leasehold new`: start a job type from a template."""

from __future__ import annotations

import keyword
import sys
from pathlib import Path
from typing import Annotated

import typer

from leasehold.cli.main import EXIT_UNUSABLE

app = typer.Typer(no_args_is_help=True, help="Start something new from a template.")


@app.command()
def job(
    name: Annotated[str, typer.Argument(help="The job type, e.g. daily_summary.")],
    root: Annotated[Path, typer.Option(help="The project's folder.")] = Path(),
) -> None:
    """Make jobs/NAME with a payload model, a handler and its settings, and a test for it.

    In functions/jobs where a project has that, or no folder jobs.
    """
    from leasehold.kernel.errors import InvalidInputError

    try:
        made = write_job(name, root)
    except InvalidInputError as error:
        print(f"No job type was made: {error}", file=sys.stderr)
        raise typer.Exit(EXIT_UNUSABLE) from None
    for path in made:
        print(f"made {path.relative_to(root)}")
    print("Say in the handler what a job does, and in job.toml what it needs; then deploy.")


def write_job(name: str, root: Path) -> list[Path]:
    """The files of a new job type; nothing is written unless all of them can be new."""
    from leasehold.cli.job_templates import HANDLER, PAYLOAD, SETTINGS, TEST
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
    files = {
        folder / "payload.py": PAYLOAD,
        folder / "handler.py": HANDLER,
        folder / "job.toml": SETTINGS,
        test: TEST,
    }
    for path, template in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        words = {"place": place, "package": place.replace("/", "."), "levels": len(Path(tests).parts)}
        path.write_text(template.substitute(name=name, class_name=class_name, **words), "utf-8")
    return [*files, *_findable(root)]


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

    class_name = "".join(word.capitalize() for word in name.split("_"))
    if keyword.iskeyword(name) or class_name == "BaseJob":
        raise InvalidJobTypeError(
            name, "Python or Leasehold uses this name itself", "Say more, e.g. what the job works on."
        )
    return class_name
