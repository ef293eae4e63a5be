"""`leasehold init`: a project of one's own, which deploys a queue and its first job type."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from leasehold.cli.command import BUILD
from leasehold.cli.main import EXIT_UNUSABLE

FIRST_JOB = "send_letter"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


app = typer.Typer()


@app.command(rich_help_panel=BUILD)
def init(
    name: Annotated[str, typer.Argument(help="The project's name, which its folder and its queue get: my-jobs.")],
    root: Annotated[Path, typer.Option(help="Where the folder is made.")] = Path(),
) -> None:
    """Make a new project in the folder NAME: a CDK app with a queue, one job type, and its test."""
    from leasehold.kernel.errors import InvalidInputError

    try:
        made = write_project(name, root)
    except InvalidInputError as error:
        print(f"No project was made: {error}", file=sys.stderr)
        raise typer.Exit(EXIT_UNUSABLE) from None
    for path in made:
        print(f"made {path.relative_to(root)}")
    print(f"\nNext, on this machine and without an AWS account:\n  cd {name} && leasehold local deploy")
    print(f"  leasehold enqueue {FIRST_JOB} --local --payload '{{\"subject\":\"ada\"}}' --reason 'to see it work'")


def write_project(name: str, root: Path) -> list[Path]:
    """The files of a new project; nothing is written unless its folder is new, or empty."""
    from importlib.metadata import version

    from leasehold.cli import project_templates as templates
    from leasehold.cli.new import write_job
    from leasehold.kernel.errors import InvalidOptionError
    from leasehold.local.tools import cdk_version

    if not _NAME.fullmatch(name):
        raise InvalidOptionError(
            name, "a project's name is 1 to 40 characters of a-z, 0-9 and -, starting with a letter", "Choose another."
        )
    project = root / name
    if project.exists() and (not project.is_dir() or any(project.iterdir())):
        raise InvalidOptionError(name, "this is there already, and not empty", "Choose another name.")
    files = {
        "app.py": templates.APP,
        "cdk.json": templates.CDK,
        "package.json": templates.PACKAGE,
        "requirements.txt": templates.REQUIREMENTS,
        "pyproject.toml": templates.PYPROJECT,
        ".gitignore": templates.GITIGNORE,
        ".github/workflows/ci.yml": templates.CI,
        "README.md": templates.README,
    }
    class_name = "".join(word.capitalize() for word in name.split("-"))
    words = {
        **{"name": name, "class_name": class_name, "job": FIRST_JOB},
        **{"version": version("leasehold"), "cdk_version": cdk_version()},
    }
    for file, template in files.items():
        path = project / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(template.substitute(words), "utf-8")
    # So that the job type is made there.
    (project / "jobs").mkdir()
    return [*(project / file for file in files), *write_job(FIRST_JOB, project)]
