"""What is done most often has a name of its own: `leasehold enqueue`, `cancel`, `retry`, `halt`, `pause`, `resume`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from typer import Argument, Option

from leasehold.cli.command import command
from leasehold.cli.options import (
    Jobs,
    JobTypeArgument,
    PresetWithTries,
    PriorityOption,
    complete_job_type,
    given,
    length_of,
    moment,
    on_duplicate_of,
    option,
    priority_of,
    window_of,
)
from leasehold.cli.session import Acting, Asking, Previewing

app = typer.Typer()
control_app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class _New(PresetWithTries):
    template: str | None = option(help="Take type, payload and options from this template.")
    run_at: str | None = option("--at", reads=moment, help="When, e.g. 2026-11-15T09:30Z; now by default.")
    run_in: str | None = option("--in", reads=length_of, help="After so long, e.g. 2h.")
    start_by: str | None = option(reads=moment, help="Not after this time: a job that is late is cancelled.")
    dedup_key: str | None = option(help="At most one job with this key.")
    dedup_window: str | None = option(
        reads=window_of, help="day, day:Europe/Berlin, or a time like 24h; until it ends by default."
    )
    on_duplicate: str = option(
        default="return_existing",
        reads=on_duplicate_of,
        help="If the key is taken: return_existing, raise or replace.",
    )
    concurrency_key: str | None = option(help="What limits per key count.")


@command(app, """leasehold enqueue daily_summary --payload '{"user_id": "ada"}' --in 2h --reason 'ada asked'""")
def enqueue(
    session: Acting,
    job_type: Annotated[
        str | None,
        Argument(metavar="TYPE", help="The job type; may be left to --template.", autocompletion=complete_job_type),
    ] = None,
    *,
    new: _New,
) -> None:
    """Put a job into the queue, now or for later; prints its id."""
    from leasehold.admin.documents import enqueued_document
    from leasehold.kernel.enqueue import NewJob

    options = given(new)
    on_duplicate = options.pop("on_duplicate")
    wanted = NewJob(job=job_type, **options)
    made = session.admin.queue.operator.enqueue(wanted, reason=session.reason, on_duplicate=on_duplicate)
    session.out.done(enqueued_document(made), made.job_id)
    if not made.created:
        session.out.hint("The dedup key is taken: this is the job that holds it.")
    if made.replaced:
        session.out.hint(f"It replaces {made.replaced}, which was cancelled.")


@dataclass(frozen=True, kw_only=True)
class _Cancelled(Jobs):
    statuses: list[str] | None = option(
        "--status", help="pending and failed, unless it is said; in_progress asks those that run to stop."
    )


@command(app, "leasehold cancel --type daily_summary --created-since 1h --reason 'enqueued twice' --dry-run")
def cancel(
    session: Previewing,
    job_ids: Annotated[list[str] | None, Argument(metavar="[JOB_ID]...", help="These jobs.")] = None,
    *,
    which: _Cancelled,
    limit: Annotated[int, Option(help="At most so many, the newest first; up to 1,000.")] = 100,
) -> None:
    """Cancel jobs that have not started; those that run are asked to stop, and not tried again.

    Those that are named, or that match all filters, after a look and a confirmation.
    """
    from leasehold.admin.pages import JobFilter
    from leasehold.cli.operating import bulk
    from leasehold.kernel.errors import InvalidOptionError

    wanted = which.wanted(session.now())
    if (wanted != JobFilter() or session.dry_run) if job_ids else wanted == JobFilter():
        given = job_ids or "nothing"
        raise InvalidOptionError(given, "jobs are named or filtered", "Pass ids, or filters; --dry-run is for these.")
    if job_ids:
        bulk.cancel_these(session, job_ids)
    else:
        bulk.cancel_matching(session, wanted, limit=limit)


@command(app, "leasehold retry JOB_ID --priority high --reason 'the bug is mended'")
def retry(
    session: Acting,
    job_id: Annotated[str, Argument(metavar="JOB_ID", help="The job's id, or that of a failed run, like JOB_ID.2.")],
    *,
    priority: PriorityOption = None,
) -> None:
    """Run a waiting job now, or an ended one again as a new job; prints its id."""
    from leasehold.admin.documents import enqueued_document

    queue, wanted = session.admin.queue, None if priority is None else priority_of(priority)
    retry = queue.retry_run if "." in job_id else queue.retry
    again = retry(job_id, reason=session.reason, priority=wanted)
    session.out.done(enqueued_document(again), again.job_id)
    if again.created:
        session.out.hint("It is a new job.")
    elif again.job_id == job_id:
        session.out.hint("It was waiting, and is due now.")
    else:
        session.out.hint("Somebody else has just retried it: this is the job that they made.")


@command(control_app, "leasehold halt --reason 'bad deploy'")
def halt(session: Asking) -> None:
    """Stop the whole system: nothing is enqueued or started until it is resumed. What runs finishes."""
    session.confirm("Halt the whole system?")
    changed = session.admin.queue.operator.halt(reason=session.reason)
    text = "The system is halted. To go on: leasehold resume" if changed else "It was halted already."
    session.out.done({"halted": True, "changed": changed}, text)


@command(control_app, "leasehold pause daily_summary --reason 'the mail server is down'")
def pause(session: Acting, job_type: JobTypeArgument) -> None:
    """Start no more jobs of one type. They can still be enqueued, and what runs finishes."""
    changed = session.admin.queue.operator.pause(job_type, reason=session.reason)
    text = f"{job_type} is paused." if changed else f"{job_type} was paused already."
    session.out.done({"job_type": job_type, "paused": True, "changed": changed}, text)


@command(control_app, "leasehold resume daily_summary --reason 'the mail server is back'")
def resume(
    session: Acting,
    job_type: Annotated[
        str | None,
        Argument(
            metavar="[TYPE]",
            help="The job type that is paused; without one, the halt of the whole system is lifted.",
            autocompletion=complete_job_type,
        ),
    ] = None,
) -> None:
    """Lift the pause of a type, by hand or by its circuit breaker; without a type, the halt of the system."""
    if job_type is None:
        changed = session.admin.queue.operator.resume(reason=session.reason)
        text = "The system goes on." if changed else "It was not halted."
        session.out.done({"halted": False, "changed": changed}, text)
        return
    changed = session.admin.queue.operator.unpause(job_type, reason=session.reason)
    text = f"{job_type} goes on." if changed else f"{job_type} was not paused."
    session.out.done({"job_type": job_type, "paused": False, "changed": changed}, text)
