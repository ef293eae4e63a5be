"""`leasehold dead-letters`: what could not be done, to be run again or laid to rest."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from leasehold.cli.command import command
from leasehold.cli.operating.options import (
    Cursor,
    DryRun,
    Everything,
    JobTypeOption,
    Limit,
    PayloadFileOption,
    Reason,
    Yes,
)
from leasehold.cli.pages import DEFAULT_LIMIT, list_pages
from leasehold.cli.session import Session

app = typer.Typer(no_args_is_help=True, help="Jobs that could not be done: list, show, redrive, discard.")

_Since = Annotated[
    str | None, typer.Option(help="Failed from then on, e.g. 2026-11-15T09:30Z, or how long ago: 2h, 7d.")
]
_Until = Annotated[str | None, typer.Option(help="Failed before then.")]
_DeadLetterId = Annotated[str, typer.Argument(metavar="JOB_ID", help="The dead job's id.")]


@command(app, "list", example="leasehold dead-letters list --type daily_summary --since 1d")
def list_dead_letters(
    session: Session,
    *,
    job_type: JobTypeOption = None,
    since: _Since = None,
    until: _Until = None,
    limit: Limit = DEFAULT_LIMIT,
    everything: Everything = False,
    cursor: Cursor = None,
) -> None:
    """List open dead letters, those that failed last first."""
    from leasehold.admin.job_documents import dead_letter_document
    from leasehold.admin.others import DeadLetterFilter
    from leasehold.cli.operating.columns import LETTERS
    from leasehold.cli.operating.values import check_type
    from leasehold.cli.times import past_moment

    now = session.now()
    wanted = DeadLetterFilter(
        job_type=job_type,
        failed_from=past_moment(since, now, what="--since"),
        failed_to=past_moment(until, now, what="--until"),
    )
    check_type(session.admin.services, job_type)
    fetch = partial(session.admin.read.dead_letters, wanted)
    list_pages(fetch, dead_letter_document, LETTERS, session.out, limit=limit, cursor=cursor, everything=everything)


@command(app, "show", example="leasehold dead-letters show JOB_ID")
def show(session: Session, job_id: _DeadLetterId) -> None:
    """Show a dead letter, resolved or not, with its error and runs."""
    from leasehold.admin.job_documents import dead_letter_document
    from leasehold.cli.operating.job_page import show_dead_letter

    document = dead_letter_document(session.admin.read.dead_letter(job_id))
    if session.out.as_json:
        session.out.document(document)
    else:
        show_dead_letter(document, session.out.console)


@command(
    app,
    "redrive",
    example="leasehold dead-letters redrive --type daily_summary --since 1d --reason 'the bug is mended'",
)
def redrive(
    session: Session,
    job_ids: Annotated[list[str] | None, typer.Argument(metavar="[JOB_ID]...", help="These dead jobs.")] = None,
    *,
    reason: Reason = "",
    everything: Annotated[bool, typer.Option("--all", help="All open dead letters.")] = False,
    job_type: JobTypeOption = None,
    since: _Since = None,
    until: _Until = None,
    limit: Annotated[int | None, typer.Option(help="At most so many, the oldest first.")] = None,
    payload: Annotated[
        str | None, typer.Option(metavar="JSON", help="Another payload for the one that is named, as `show` writes it.")
    ] = None,
    payload_file: PayloadFileOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Run dead jobs again as new jobs: those named, or all that match, after a look and a confirmation.

    With --payload, one that is named is run with another payload; its type's model is asked first.
    """
    from leasehold.cli.operating import bulk
    from leasehold.cli.operating.values import edited_payload
    from leasehold.cli.times import past_moment
    from leasehold.kernel.errors import InvalidOptionError

    edited = edited_payload(payload, payload_file)
    has_filter = everything or job_type is not None or since is not None or until is not None
    if bool(job_ids) == has_filter or (edited is not None and not job_ids):
        raise InvalidOptionError(
            job_ids or "nothing",
            "dead letters are named or filtered",
            "Pass ids, or --type, --since, --until or --all.",
        )
    if job_ids:
        bulk.redrive_these(session, job_ids, reason=reason, dry_run=dry_run, payload_text=edited)
        return
    now = session.now()
    start, end = past_moment(since, now, what="--since"), past_moment(until, now, what="--until")
    wanted = bulk.dead_letters_wanted(job_type, start, end, now)
    bulk.redrive_matching(session, wanted, limit=limit, reason=reason, dry_run=dry_run, yes=yes)


@command(app, "discard", example="leasehold dead-letters discard JOB_ID --reason 'no longer wanted'")
def discard(session: Session, job_id: _DeadLetterId, *, reason: Reason = "") -> None:
    """Resolve a dead letter without running it again."""
    from leasehold.admin.job_documents import dead_letter_document

    dead_letter = session.admin.queue.operator.discard(job_id, reason=reason)
    session.out.done(dead_letter_document(dead_letter), f"{dead_letter.id} is discarded")
