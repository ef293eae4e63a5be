"""`leasehold jobs`: find jobs, the newest first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import typer

from leasehold.cli.command import LOOK, command
from leasehold.cli.operating.options import (
    ConcurrencyKeyOption,
    CreatedSince,
    CreatedUntil,
    Cursor,
    Everything,
    GroupOption,
    JobTypeOption,
    Limit,
    ScheduleOption,
    Since,
    TemplateOption,
    Until,
    complete_status,
)
from leasehold.cli.pages import DEFAULT_LIMIT, list_pages
from leasehold.cli.session import Session

if TYPE_CHECKING:
    from leasehold.admin.job_documents import Document

app = typer.Typer()


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
    since: Since = None,
    until: Until = None,
    created_since: CreatedSince = None,
    created_until: CreatedUntil = None,
    ended_since: Annotated[str | None, typer.Option(help="Ended from then on.")] = None,
    ended_until: Annotated[str | None, typer.Option(help="Ended before then.")] = None,
    key: Annotated[str | None, typer.Option(help="With this dedup key.")] = None,
    concurrency_key: ConcurrencyKeyOption = None,
    group: GroupOption = None,
    schedule: ScheduleOption = None,
    template: TemplateOption = None,
    limit: Limit = DEFAULT_LIMIT,
    everything: Everything = False,
    cursor: Cursor = None,
) -> None:
    """List jobs, the newest first. All filters that are given must hold."""
    from leasehold.admin.job_documents import job_summary
    from leasehold.cli.operating.columns import job_columns
    from leasehold.cli.operating.values import check_type, jobs_wanted

    now = session.now()
    wanted = jobs_wanted(
        now,
        job_type=job_type,
        status=status,
        since=since,
        until=until,
        created_since=created_since,
        created_until=created_until,
        ended_since=ended_since,
        ended_until=ended_until,
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
