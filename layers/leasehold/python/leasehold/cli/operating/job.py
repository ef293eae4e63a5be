"""`leasehold job`: one job, seen whole, moved, or forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

import typer
from typer import Argument, Option

from leasehold.cli.command import ShowsByDefault, command
from leasehold.cli.options import (
    JobIdArgument,
    complete_priority,
    given,
    length_of,
    moment,
    option,
    priority_of,
)
from leasehold.cli.session import Acting, Asking, Session
from leasehold.cli.terminal import priority_name

if TYPE_CHECKING:
    from leasehold.documents import Document
    from leasehold.kernel.job import Job

app = typer.Typer(
    cls=ShowsByDefault,
    no_args_is_help=True,
    help="One job: `leasehold job JOB_ID` shows it, the commands below change it.",
)


@command(app, "leasehold job 01a1de8a-c9c0-8000-9c5f-3a5d8a1b2c3d")
def show(session: Session, job_id: JobIdArgument) -> None:
    """Show a job with its payload, result, runs and timeline."""
    document = session.admin.read.job(job_id, with_place=True)
    session.out.details(document, shown=_shown(document))


def _shown(document: Document) -> Document:
    """With its priority in words and what became of its dead letter, below its other fields."""
    shown = {**document, "priority": priority_name(document["priority"])}
    shown["priority"] = shown.pop("priority")
    dead_letter = cast("Document", document.get("dead_letter") or {})
    if dead_letter:
        shown["dead letter"] = "open" if dead_letter["is_open"] else dead_letter.get("resolution")
        shown |= {name: dead_letter[name] for name in ("resolved_by", "resolved_reason") if name in dead_letter}
    return shown


@command(app, "leasehold job run-now JOB_ID --reason 'the customer waits'")
def run_now(session: Acting, job_id: JobIdArgument) -> None:
    """Have a waiting job due at once."""
    _tell(session, session.admin.queue.reschedule(job_id, reason=session.reason), "is due now")


@dataclass(frozen=True, kw_only=True)
class _When:
    run_at: str | None = option("--at", reads=moment, help="When, e.g. 2026-11-15T09:30Z.")
    run_in: str | None = option("--in", reads=length_of, help="After so long, e.g. 2h.")


@command(app, "leasehold job reschedule JOB_ID --in 2h --reason 'not in office hours'")
def reschedule(session: Acting, job_id: JobIdArgument, *, when: _When) -> None:
    """Have a waiting job due at another time."""
    from leasehold.kernel.errors import InvalidOptionError

    if (when.run_at is None) == (when.run_in is None):
        raise InvalidOptionError(
            (when.run_at, when.run_in), "a job is moved to one time", "Pass --at or --in; or use run-now."
        )
    moved = session.admin.queue.reschedule(job_id, reason=session.reason, **given(when))
    _tell(session, moved, f"is due at {moved.due_at:%Y-%m-%d %H:%M:%SZ}")


@command(app, "leasehold job priority JOB_ID critical --reason 'the board waits'")
def priority(
    session: Acting,
    job_id: JobIdArgument,
    level: Annotated[str, Argument(help="low, normal, high or critical.", autocompletion=complete_priority)],
) -> None:
    """Have a waiting job run among those of another priority."""
    wanted = priority_of(level)
    moved = session.admin.queue.reprioritise(job_id, wanted, reason=session.reason)
    _tell(session, moved, f"has priority {wanted.name.lower()}")


@command(app, "leasehold job move JOB_ID --before OTHER_ID --reason 'needed first'")
def move(
    session: Acting,
    job_id: JobIdArgument,
    *,
    before: Annotated[str | None, Option(metavar="JOB_ID", help="Directly before this job.")] = None,
    after: Annotated[str | None, Option(metavar="JOB_ID", help="Directly after this job.")] = None,
    to: Annotated[int | None, Option(metavar="N", help="As the n-th of those that wait: see `queue`.")] = None,
) -> None:
    """Let a waiting job run directly before or after another, with that one's priority and time; or as the n-th."""
    moved = session.admin.queue.move(job_id, reason=session.reason, before=before, after=after, position=to)
    _tell(session, moved, f"runs {'before' if before else 'after'} {before or after}" if to is None else f"is at {to}")


@command(app, "leasehold job purge JOB_ID --reason 'the user asked to be forgotten' --yes")
def purge(session: Asking, job_id: JobIdArgument) -> None:
    """Forget the personal data of an ended job: payload, result and errors. It cannot be undone."""
    session.confirm(f"Forget payload, result and errors of job {job_id} for good?")
    _tell(session, session.admin.queue.operator.purge(job_id, reason=session.reason), "is purged")


def _tell(session: Session, job: Job, text: str) -> None:
    from leasehold.admin.job_documents import job_summary

    session.out.done(job_summary(job), f"{job.job_id} {text}")
