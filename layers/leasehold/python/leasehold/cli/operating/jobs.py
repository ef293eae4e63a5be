"""`leasehold jobs`, `queue` and `logs`: find jobs, see what waits in which order, and what one of them logged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import typer
from typer import Option

from leasehold.cli.command import command
from leasehold.cli.options import DEFAULT_LIMIT, JobIdArgument, Jobs, Limit, Pages, check_type, option, past_moment
from leasehold.cli.pages import list_pages
from leasehold.cli.session import Session
from leasehold.cli.terminal import NOTHING, Column, cell, priority_name, relative

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.aws.job_logs import JobLogLine
    from leasehold.documents import Document
    from leasehold.verify.site import Site

app = typer.Typer()
logs_app = typer.Typer()


def attempts(document: Document) -> str:
    return f"{document.get('attempts', 0)}/{document.get('max_attempts', NOTHING)}"


def _when(document: Document) -> object:
    """When it ended, or is due."""
    return document.get("ended_at") or document.get("due_at") or document.get("scheduled_for")


PRIORITY = Column("priority", lambda document: priority_name(document.get("priority")), rank=2)


def job_columns(now: datetime) -> tuple[Column, ...]:
    return (
        Column("job", "job_id", rank=0),
        Column("type", "job_type", rank=0),
        Column("status", "status", rank=0),
        Column("when", lambda document: relative(_when(document), now), rank=1),
        Column("due or ended", lambda document: cell(_when(document)), rank=3),
        Column("attempts", attempts, rank=4),
        replace(PRIORITY, rank=5),
        Column("held by", "held_by", rank=6),
        Column("key", "dedup_key", rank=7),
        Column("error", "error", rank=2, stretches=True),
    )


def _queue_columns(now: datetime) -> tuple[Column, ...]:
    return (
        Column("position", "position", rank=0),
        Column("job", "job_id", rank=0),
        Column("type", "job_type", rank=0),
        replace(PRIORITY, rank=1),
        Column("due", lambda document: relative(document.get("due_at"), now), rank=1),
        Column("attempts", attempts, rank=2),
    )


@dataclass(frozen=True, kw_only=True)
class _Listed(Jobs):
    ended_from: str | None = option("--ended-since", reads=past_moment, help="Ended from then on.")
    ended_to: str | None = option("--ended-until", reads=past_moment, help="Ended before then.")
    dedup_key: str | None = option("--key", help="With this dedup key.")


@command(app, "leasehold jobs --type daily_summary --status failed --since 2h --queue dev")
def jobs(session: Session, which: _Listed, pages: Pages) -> None:
    """List jobs, the newest first. All filters that are given must hold."""
    from leasehold.admin.job_documents import job_summary

    now = session.now()
    wanted = which.wanted(now)
    check_type(session.admin.services, wanted.job_type)
    list_pages(partial(session.admin.read.jobs, wanted), job_summary, job_columns(now), session.out, pages)


@command(app, "leasehold queue --held-by report --queue dev")
def queue(
    session: Session,
    *,
    held_by: Annotated[str | None, Option(help="Those of this type that are held back, or of TYPE#KEY.")] = None,
    shard: Annotated[int, Option(help="Of a deployment with several: each has its own order.")] = 0,
    first: Annotated[int, Option(help="From this position on, up to 1,000.")] = 1,
    limit: Limit = DEFAULT_LIMIT,
) -> None:
    """List the jobs that are due and wait, in the order in which they will be dispatched."""
    now = session.now()
    document = session.admin.read.queue(shard=shard, held_by=held_by, first=first, limit=limit)
    if session.out.as_json:
        session.out.document(document)
        return
    session.out.table(_queue_columns(now), cast("list[Document]", document["items"]))
    if not document["is_complete"]:
        session.out.say("More wait behind these.")


@command(logs_app, "leasehold logs 01a1de8a-c9c0-8000-9c5f-3a5d8a1b2c3d --queue dev")
def logs(session: Session, job_id: JobIdArgument) -> None:
    """Print what the handler and the poller logged about a job: time, level, function, message.

    It finds the lines that name the job: all of ours, and what its handler writes by `context.logger`.
    """
    from leasehold.aws.job_logs import job_log_lines
    from leasehold.documents import picked, set_only

    site = session.site()
    job = site.queue.get(job_id)
    until = job.completed_at or session.now()
    lines = job_log_lines(
        job.job_id, _groups(site, job.job_type), site.client("logs"), since=job.created_at, until=until
    )
    for line in lines:
        if session.out.as_json:
            document = picked(line, "at", "level", "function", "message")
            session.out.document({**document, "fields": dict(line.fields), **set_only(text=line.text or None)})
        else:
            session.out.say(*shown(line))
    if not lines:
        session.out.hint(
            f"No line names it. It is {job.status}; CloudWatch shows lines some seconds after they were written, and "
            "keeps them as long as log_retention says."
        )


def _groups(site: Site, job_type: str) -> dict[str, str]:
    """The log groups of a type's handler, and of the poller."""
    ours = [each for each in site.functions if each.kind == "poller" or each.job_type == job_type]
    return {each.job_type or each.kind: each.log_group for each in ours}


def shown(line: JobLogLine) -> list[str]:
    """Time, level, function and message; below it, what it has to say in several lines."""
    # Of a traceback, the last line says what it was.
    details = " ".join(f"{name}={str(value).rstrip().rpartition('\n')[2]}" for name, value in line.fields.items())
    at = f"{line.at:%Y-%m-%d %H:%M:%S}.{line.at.microsecond // 1000:03d}Z"
    first = f"{at}  {line.level:<7}  {line.function}  {line.message}{f'  {details}' if details else ''}"
    return [first, *(f"    {each}" for each in (line.text or "").splitlines())]
