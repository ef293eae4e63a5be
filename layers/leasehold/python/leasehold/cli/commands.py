"""The commands. What each needs is imported when it runs, so that help and completion come at once."""

from __future__ import annotations

import typer

from leasehold.cli import local, new
from leasehold.cli.command import BUILD, LOOK, OPERATE
from leasehold.cli.demo import demo
from leasehold.cli.front import Front
from leasehold.cli.init import init
from leasehold.cli.operating import (
    audit,
    console,
    control,
    dead_letters,
    enqueue,
    groups,
    job,
    jobs,
    logs,
    restore,
    schedule_runs,
    schedules,
    status,
    templates,
    top,
    verify,
)

app = typer.Typer(
    cls=Front,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Leasehold: a serverless scheduled job queue for AWS.",
)
app.add_typer(status.app)
app.add_typer(top.app)
app.add_typer(console.app)
app.add_typer(jobs.app)
app.add_typer(job.app, name="job", rich_help_panel=LOOK)
app.add_typer(logs.app)
app.add_typer(audit.app, name="audit", rich_help_panel=LOOK)
app.add_typer(enqueue.app)
app.add_typer(job.verbs)
app.add_typer(dead_letters.app, name="dead-letters", rich_help_panel=OPERATE)
app.add_typer(schedules.app, name="schedules", rich_help_panel=OPERATE)
app.add_typer(templates.app, name="templates", rich_help_panel=OPERATE)
app.add_typer(groups.app, name="groups", rich_help_panel=OPERATE)
app.add_typer(control.app)
app.add_typer(verify.app)
app.add_typer(restore.app, name="restore", rich_help_panel=OPERATE)
app.add_typer(local.app, name="local", rich_help_panel=BUILD)
app.add_typer(new.app, name="new", rich_help_panel=BUILD)
app.command(rich_help_panel=BUILD)(init)
app.command(rich_help_panel=BUILD)(demo)


@app.command(rich_help_panel=BUILD)
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as version_of

    print(version_of("leasehold"))


__all__ = ["app", "schedule_runs"]
