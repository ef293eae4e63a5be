"""`leasehold job`: one job, seen whole, moved, or forgotten. `cancel` and `retry` stand beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from leasehold.cli.command import OPERATE, command
from leasehold.cli.front import ShowsByDefault
from leasehold.cli.operating.options import (
    ConcurrencyKeyOption,
    CreatedSince,
    CreatedUntil,
    DryRun,
    GroupOption,
    JobIdArgument,
    JobTypeOption,
    PriorityOption,
    Reason,
    ScheduleOption,
    Since,
    TemplateOption,
    Until,
    Yes,
    complete_priority,
)
from leasehold.cli.session import Session

if TYPE_CHECKING:
    from leasehold.kernel.job import Job

app = typer.Typer(
    cls=ShowsByDefault,
    no_args_is_help=True,
    help="One job: `leasehold job JOB_ID` shows it, the commands below change it.",
)
# What is done to a job most often has a name of its own.
verbs = typer.Typer()


@command(app, "show", example="leasehold job 01a1de8a-c9c0-8000-9c5f-3a5d8a1b2c3d")
def show(session: Session, job_id: JobIdArgument) -> None:
    """Show a job with its payload, result, runs and timeline."""
    from leasehold.admin.documents import job_view_document
    from leasehold.cli.operating.job_page import show_job

    document = job_view_document(session.admin.read.job(job_id, with_place=True))
    if session.out.as_json:
        session.out.document(document)
    else:
        show_job(document, session.out.console)


@command(app, "run-now", example="leasehold job run-now JOB_ID --reason 'the customer waits'")
def run_now(session: Session, job_id: JobIdArgument, *, reason: Reason = "") -> None:
    """Have a waiting job due at once."""
    _tell(session, session.admin.queue.reschedule(job_id, reason=reason), "is due now")


@command(app, "reschedule", example="leasehold job reschedule JOB_ID --in 2h --reason 'not in office hours'")
def reschedule(
    session: Session,
    job_id: JobIdArgument,
    *,
    reason: Reason = "",
    at: Annotated[str | None, typer.Option(help="When, e.g. 2026-11-15T09:30Z.")] = None,
    in_: Annotated[str | None, typer.Option("--in", help="After so long, e.g. 2h.")] = None,
) -> None:
    """Have a waiting job due at another time."""
    from leasehold.cli.times import length_of, moment
    from leasehold.kernel.errors import InvalidOptionError

    if (at is None) == (in_ is None):
        raise InvalidOptionError((at, in_), "a job is moved to one time", "Pass --at or --in; or use run-now.")
    run_in = None if in_ is None else length_of(in_, what="--in")
    moved = session.admin.queue.reschedule(job_id, reason=reason, run_at=moment(at, what="--at"), run_in=run_in)
    _tell(session, moved, f"is due at {moved.due_at:%Y-%m-%d %H:%M:%SZ}")


@command(app, "priority", example="leasehold job priority JOB_ID critical --reason 'the board waits'")
def priority(
    session: Session,
    job_id: JobIdArgument,
    level: Annotated[str, typer.Argument(help="low, normal, high or critical.", autocompletion=complete_priority)],
    *,
    reason: Reason = "",
) -> None:
    """Have a waiting job run among those of another priority."""
    from leasehold.cli.operating.values import parse_priority

    wanted = parse_priority(level)
    assert wanted is not None
    moved = session.admin.queue.reprioritise(job_id, wanted, reason=reason)
    _tell(session, moved, f"has priority {wanted.name.lower()}")


@command(app, "move", example="leasehold job move JOB_ID --before OTHER_ID --reason 'needed first'")
def move(
    session: Session,
    job_id: JobIdArgument,
    *,
    reason: Reason = "",
    before: Annotated[str | None, typer.Option(metavar="JOB_ID", help="Directly before this job.")] = None,
    after: Annotated[str | None, typer.Option(metavar="JOB_ID", help="Directly after this job.")] = None,
    to: Annotated[int | None, typer.Option(metavar="N", help="As the n-th of those that wait: see `queue`.")] = None,
) -> None:
    """Let a waiting job run directly before or after another, with that one's priority and time; or as the n-th."""
    moved = session.admin.queue.move(job_id, reason=reason, before=before, after=after, position=to)
    _tell(session, moved, f"runs {'before' if before else 'after'} {before or after}" if to is None else f"is at {to}")


@command(app, "purge", example="leasehold job purge JOB_ID --reason 'the user asked to be forgotten' --yes")
def purge(session: Session, job_id: JobIdArgument, *, reason: Reason = "", yes: Yes = False) -> None:
    """Forget the personal data of an ended job: payload, result and errors. It cannot be undone."""
    session.confirm(f"Forget payload, result and errors of job {job_id} for good?", yes=yes)
    _tell(session, session.admin.queue.operator.purge(job_id, reason=reason), "is purged")


@command(
    verbs,
    "cancel",
    rich_help_panel=OPERATE,
    example="leasehold cancel --type daily_summary --created-since 1h --reason 'enqueued twice' --dry-run",
)
def cancel(
    session: Session,
    job_ids: Annotated[list[str] | None, typer.Argument(metavar="[JOB_ID]...", help="These jobs.")] = None,
    *,
    reason: Reason = "",
    job_type: JobTypeOption = None,
    status: Annotated[
        list[str] | None,
        typer.Option(help="pending and failed, unless it is said; in_progress asks those that run to stop."),
    ] = None,
    since: Since = None,
    until: Until = None,
    created_since: CreatedSince = None,
    created_until: CreatedUntil = None,
    concurrency_key: ConcurrencyKeyOption = None,
    group: GroupOption = None,
    schedule: ScheduleOption = None,
    template: TemplateOption = None,
    limit: Annotated[int, typer.Option(help="At most so many, the newest first; up to 1,000.")] = 100,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Cancel jobs that have not started; those that run are asked to stop, and not tried again.

    Those that are named, or that match all filters, after a look and a confirmation.
    """
    from leasehold.admin.pages import JobFilter
    from leasehold.cli.operating import bulk
    from leasehold.cli.operating.values import jobs_wanted
    from leasehold.kernel.errors import InvalidOptionError

    wanted = jobs_wanted(
        session.now(),
        job_type=job_type,
        status=status,
        since=since,
        until=until,
        created_since=created_since,
        created_until=created_until,
        concurrency_key=concurrency_key,
        group_id=group,
        schedule=schedule,
        template=template,
    )
    if (wanted != JobFilter() or dry_run) if job_ids else wanted == JobFilter():
        given = job_ids or "nothing"
        raise InvalidOptionError(given, "jobs are named or filtered", "Pass ids, or filters; --dry-run is for these.")
    if job_ids:
        bulk.cancel_these(session, job_ids, reason=reason)
    else:
        bulk.cancel_matching(session, wanted, reason=reason, limit=limit, dry_run=dry_run, yes=yes)


@command(
    verbs,
    "retry",
    rich_help_panel=OPERATE,
    example="leasehold retry JOB_ID --priority high --reason 'the bug is mended'",
)
def retry(
    session: Session,
    job_id: Annotated[
        str, typer.Argument(metavar="JOB_ID", help="The job's id, or that of a failed run, like JOB_ID.2.")
    ],
    *,
    reason: Reason = "",
    priority: PriorityOption = None,
) -> None:
    """Run a waiting job now, or an ended one again as a new job; prints its id."""
    from leasehold.admin.documents import enqueued_document
    from leasehold.cli.operating.values import parse_priority

    queue = session.admin.queue
    again = (queue.retry_run if "." in job_id else queue.retry)(
        job_id, reason=reason, priority=parse_priority(priority)
    )
    session.out.done(enqueued_document(again), again.job_id)
    if again.created:
        session.out.hint("It is a new job.")
    elif again.job_id == job_id:
        session.out.hint("It was waiting, and is due now.")
    else:
        session.out.hint("Somebody else has just retried it: this is the job that they made.")


def _tell(session: Session, job: Job, text: str) -> None:
    from leasehold.admin.job_documents import job_summary

    session.out.done(job_summary(job), f"{job.job_id} {text}")
