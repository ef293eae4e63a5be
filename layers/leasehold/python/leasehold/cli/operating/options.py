"""Options that several of the operators' commands have, and what complete them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def complete_job_type(incomplete: str) -> list[str]:
    """The job types of the project in this folder: asking a table would keep the shell waiting."""
    if incomplete and not incomplete.isidentifier():
        return []
    places = (Path("jobs"), Path("functions/jobs"))
    return sorted(found.parent.name for place in places for found in place.glob(f"{incomplete}*/job.toml"))


def complete_status(incomplete: str) -> list[str]:
    from leasehold.kernel.transitions import JobStatus

    return [str(each) for each in JobStatus if each.startswith(incomplete)]


def complete_priority(incomplete: str) -> list[str]:
    from leasehold.kernel.keys import Priority

    return [name for each in Priority if (name := each.name.lower()).startswith(incomplete)]


Reason = Annotated[
    str,
    typer.Option(
        help="Why; it is kept on record with who you are. Needed where the queue asks for it.", show_default=False
    ),
]
JobIdArgument = Annotated[str, typer.Argument(metavar="JOB_ID", help="The job's id.")]
JobTypeArgument = Annotated[str, typer.Argument(metavar="TYPE", help="The job type.", autocompletion=complete_job_type)]
JobTypeOption = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", help="Only of this job type.", autocompletion=complete_job_type),
]
MadeJobTypeOption = Annotated[
    str | None,
    typer.Option("--type", metavar="TYPE", help="The type of the jobs it makes.", autocompletion=complete_job_type),
]
PriorityOption = Annotated[
    str | None, typer.Option(help="low, normal, high or critical.", autocompletion=complete_priority)
]
PayloadOption = Annotated[str | None, typer.Option(metavar="JSON", help="The payload.")]
PayloadFileOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="A file with the payload as JSON; - for the standard input.")
]
Limit = Annotated[int, typer.Option(help="How many to show.")]
Everything = Annotated[bool, typer.Option("--all", help="Show all, however many; with --json one a line.")]
Cursor = Annotated[str | None, typer.Option(help="Go on where the last page of the same listing ended.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]

# Which jobs: `jobs` lists them, `cancel` cancels them.
_SINCE = "e.g. 2026-11-15T09:30Z, or how long ago: 2h, 7d."
Since = Annotated[str | None, typer.Option(help=f"Scheduled from then on, {_SINCE}")]
Until = Annotated[str | None, typer.Option(help="Scheduled before then.")]
CreatedSince = Annotated[str | None, typer.Option(help="Created from then on.")]
CreatedUntil = Annotated[str | None, typer.Option(help="Created before then.")]
ConcurrencyKeyOption = Annotated[str | None, typer.Option(help="With this concurrency key.")]
GroupOption = Annotated[str | None, typer.Option(help="Members of this group.")]
ScheduleOption = Annotated[str | None, typer.Option(help="Made by this schedule.")]
TemplateOption = Annotated[str | None, typer.Option(help="Made from this template.")]
