"""`leasehold halt`, `pause` and `resume`: stop work on purpose, and go on."""

from __future__ import annotations

from typing import Annotated

import typer

from leasehold.cli.command import OPERATE, command
from leasehold.cli.operating.options import JobTypeArgument, Reason, Yes, complete_job_type
from leasehold.cli.session import Session

app = typer.Typer()


@command(app, "halt", rich_help_panel=OPERATE, example="leasehold halt --reason 'bad deploy'")
def halt(session: Session, *, reason: Reason = "", yes: Yes = False) -> None:
    """Stop the whole system: nothing is enqueued or started until it is resumed. What runs finishes."""
    session.confirm("Halt the whole system?", yes=yes)
    changed = session.admin.queue.operator.halt(reason=reason)
    text = "The system is halted. To go on: leasehold resume" if changed else "It was halted already."
    session.out.done({"halted": True, "changed": changed}, text)


@command(
    app,
    "pause",
    rich_help_panel=OPERATE,
    example="leasehold pause daily_summary --reason 'the mail server is down'",
)
def pause(session: Session, job_type: JobTypeArgument, *, reason: Reason = "") -> None:
    """Start no more jobs of one type. They can still be enqueued, and what runs finishes."""
    changed = session.admin.queue.operator.pause(job_type, reason=reason)
    text = f"{job_type} is paused." if changed else f"{job_type} was paused already."
    session.out.done({"job_type": job_type, "paused": True, "changed": changed}, text)


@command(
    app,
    "resume",
    rich_help_panel=OPERATE,
    example="leasehold resume daily_summary --reason 'the mail server is back'",
)
def resume(
    session: Session,
    job_type: Annotated[
        str | None,
        typer.Argument(
            metavar="[TYPE]",
            help="The job type that is paused; without one, the halt of the whole system is lifted.",
            autocompletion=complete_job_type,
        ),
    ] = None,
    *,
    reason: Reason = "",
) -> None:
    """Lift the pause of a type, by hand or by its circuit breaker; without a type, the halt of the system."""
    if job_type is None:
        changed = session.admin.queue.operator.resume(reason=reason)
        text = "The system goes on." if changed else "It was not halted."
        session.out.done({"halted": False, "changed": changed}, text)
        return
    changed = session.admin.queue.operator.unpause(job_type, reason=reason)
    text = f"{job_type} goes on." if changed else f"{job_type} was not paused."
    session.out.done({"job_type": job_type, "paused": False, "changed": changed}, text)
