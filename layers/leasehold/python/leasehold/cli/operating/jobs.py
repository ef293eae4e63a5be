"""`leasehold jobs`: find jobs, the newest first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import typer

from leasehold.cli.command import LOOK, command
from leasehold.cli.operating.options import Cursor, Everything, JobTypeOption, Limit, complete_status
from leasehold.cli.pages import DEFAULT_LIMIT, list_pages
from leasehold.cli.session import Session

if TYPE_CHECKING:
    from leasehold.admin.job_documents import Document

app = typer.Typer()

_SINCE = "e.g. 2026-11-15T09:30Z, or how long ago: 2h, 7d."


@command(
    app,
    "jobs",
    rich_help_panel=LOOK,
    example="leasehold jobs --type daily_summary --status failed --since 2h --queue dev",
)
def jobs(
    session: Session,
    *,
    job_type: JobTypeOption = None,
    status: Annotated[
        list[str] | None,
        typer.Option(
            help="pending, in_progress, failed, completed, cancelled or dead_letter; may be repeated.",
            autocompletion=complete_status,
        ),
    ] = None,
    since: Annotated[str | None, typer.Option(help=f"Scheduled from then on, {_SINCE}")] = None,
    until: Annotated[str | None, typer.Option(help="Scheduled before then.")] = None,
    created_since: Annotated[str | None, typer.Option(help="Created from then on.")] = None,
    created_until: Annotated[str | None, typer.Option(help="Created before then.")] = None,
    ended_since: Annotated[str | None, typer.Option(help="Ended from then on.")] = None,
    ended_until: Annotated[str | None, typer.Option(help="Ended before then.")] = None,
    key: Annotated[str | None, typer.Option(help="With this dedup key.")] = None,
    concurrency_key: Annotated[str | None, typer.Option(help="With this concurrency key.")] = None,
    group: Annotated[str | None, typer.Option(help="Members of this group.")] = None,
    schedule: Annotated[str | None, typer.Option(help="Made by this schedule.")] = None,
    template: Annotated[str | None, typer.Option(help="Made from this template.")] = None,
    limit: Limit = DEFAULT_LIMIT,
    everything: Everything = False,
    cursor: Cursor = None,
) -> None:
    """List jobs, the newest first. All filters that are given must hold."""
    from leasehold.admin.job_documents import job_summary
    from leasehold.admin.pages import JobFilter
    from leasehold.cli.operating.columns import job_columns
    from leasehold.cli.operating.values import check_type
    from leasehold.cli.times import past_moment

    now = session.now()
    wanted = JobFilter(
        job_type=job_type,
        statuses=frozenset(status or ()),  # type: ignore[arg-type]
        scheduled_from=past_moment(since, now, what="--since"),
        scheduled_to=past_moment(until, now, what="--until"),
        created_from=past_moment(created_since, now, what="--created-since"),
        created_to=past_moment(created_until, now, what="--created-until"),
        ended_from=past_moment(ended_since, now, what="--ended-since"),
        ended_to=past_moment(ended_until, now, what="--ended-until"),
        dedup_key=key,
        concurrency_key=concurrency_key,
        group_id=group,
        schedule=schedule,
        template=template,
    )
    check_type(session.admin.services, job_type)
    fetch = partial(session.admin.read.jobs, wanted)
    list_pages(fetch, job_summary, job_columns(now), session.out, limit=limit, cursor=cursor, everything=everything)


@command(app, "queue", rich_help_panel=LOOK, example="leasehold queue --held-by report --queue dev")
def queue(
    session: Session,
    *,
    held_by: Annotated[str | None, typer.Option(help="Those of this type that are held back, or of TYPE#KEY.")] = None,
    shard: Annotated[int, typer.Option(help="Of a deployment with several: each has its own order.")] = 0,
    first: Annotated[int, typer.Option(help="From this position on, up to 1,000.")] = 1,
    limit: Limit = DEFAULT_LIMIT,
) -> None:
    """List the jobs that are due and wait, in the order in which they will be dispatched."""
    from leasehold.admin.documents import queue_document
    from leasehold.cli.operating.columns import queue_columns

    now = session.now()
    document = queue_document(session.admin.read.queue(shard=shard, held_by=held_by, first=first, limit=limit))
    if session.out.as_json:
        session.out.document(document)
        return
    items = cast("list[Document]", document["items"])
    session.out.table(queue_columns(now), items)
    if not document["is_complete"]:
        session.out.say("More wait behind these.")
