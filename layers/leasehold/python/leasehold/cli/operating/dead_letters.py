"""`leasehold dead-letters`: what could not be done, to be run again or laid to rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer
from typer import Argument, Option

from leasehold.cli.command import command
from leasehold.cli.operating.jobs import attempts
from leasehold.cli.options import (
    JobTypeOption,
    Pages,
    PayloadFileOption,
    check_type,
    given,
    option,
    past_moment,
    read_payload,
)
from leasehold.cli.pages import list_pages
from leasehold.cli.session import Acting, Previewing, Session
from leasehold.cli.terminal import Column

app = typer.Typer(no_args_is_help=True, help="Jobs that could not be done: list, show, redrive, discard.")

DEAD_LETTERS = (
    Column("job", "original_job_id", rank=0),
    Column("type", "job_type", rank=0),
    Column("failed", "failed_at", rank=1),
    Column("attempts", attempts, rank=3),
    Column("code", "error_code", rank=4),
    Column("reason", "failure_reason", rank=2, stretches=True),
)
_DeadLetterId = Annotated[str, Argument(metavar="JOB_ID", help="The dead job's id.")]


@dataclass(frozen=True, kw_only=True)
class _Which:
    job_type: JobTypeOption = None
    failed_from: str | None = option(
        "--since", reads=past_moment, help="Failed from then on, e.g. 2026-11-15T09:30Z, or how long ago: 2h, 7d."
    )
    failed_to: str | None = option("--until", reads=past_moment, help="Failed before then.")


@command(app, "leasehold dead-letters list --type daily_summary --since 1d")
def list_(session: Session, which: _Which, pages: Pages) -> None:
    """List open dead letters, those that failed last first."""
    from leasehold.admin.job_documents import dead_letter_document
    from leasehold.admin.others import DeadLetterFilter

    wanted = DeadLetterFilter(**given(which, session.now()))
    check_type(session.admin.services, wanted.job_type)
    fetch = partial(session.admin.read.dead_letters, wanted)
    list_pages(fetch, dead_letter_document, DEAD_LETTERS, session.out, pages)


@command(app, "leasehold dead-letters show JOB_ID")
def show(session: Session, job_id: _DeadLetterId) -> None:
    """Show a dead letter, resolved or not, with its error and runs."""
    from leasehold.admin.job_documents import dead_letter_document

    session.out.details(dead_letter_document(session.admin.queue.operator.dead_letter(job_id)))


@command(app, "leasehold dead-letters redrive --type daily_summary --since 1d --reason 'the bug is mended'")
def redrive(
    session: Previewing,
    job_ids: Annotated[list[str] | None, Argument(metavar="[JOB_ID]...", help="These dead jobs.")] = None,
    *,
    everything: Annotated[bool, Option("--all", help="All open dead letters.")] = False,
    which: _Which,
    limit: Annotated[int | None, Option(help="At most so many, the oldest first.")] = None,
    payload: Annotated[
        str | None, Option(metavar="JSON", help="Another payload for the one that is named, as `show` writes it.")
    ] = None,
    payload_file: PayloadFileOption = None,
) -> None:
    """Run dead jobs again as new jobs: those named, or all that match, after a look and a confirmation.

    With --payload, one that is named is run with another payload; its type's model is asked first.
    """
    from leasehold.admin.job_documents import encode_shown
    from leasehold.admin.others import DeadLetterFilter
    from leasehold.cli.operating import bulk
    from leasehold.kernel.errors import InvalidOptionError

    # In the form in which a dead letter shows it.
    edited = None if payload is payload_file is None else encode_shown(read_payload(payload, payload_file))
    if bool(job_ids) == (everything or which != _Which()) or (edited is not None and not job_ids):
        raise InvalidOptionError(
            job_ids or "nothing",
            "dead letters are named or filtered",
            "Pass ids, or --type, --since, --until or --all.",
        )
    if job_ids:
        bulk.redrive_these(session, job_ids, payload_text=edited)
        return
    now = session.now()
    asked = given(which, now)
    # What dies after the look was not looked at: it is left out.
    wanted = DeadLetterFilter(**asked | {"failed_to": min(asked["failed_to"] or now, now)})
    bulk.redrive_matching(session, wanted, limit=limit)


@command(app, "leasehold dead-letters discard JOB_ID --reason 'no longer wanted'")
def discard(session: Acting, job_id: _DeadLetterId) -> None:
    """Resolve a dead letter without running it again."""
    from leasehold.admin.job_documents import dead_letter_document

    dead_letter = session.admin.queue.operator.discard(job_id, reason=session.reason)
    session.out.done(dead_letter_document(dead_letter), f"{dead_letter.id} is discarded")
