"""`leasehold groups`: jobs that belong together."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer
from typer import Argument

from leasehold.cli.command import command
from leasehold.cli.operating.jobs import job_columns
from leasehold.cli.options import Pages
from leasehold.cli.pages import list_pages
from leasehold.cli.session import Asking, Session
from leasehold.cli.terminal import Column

app = typer.Typer(no_args_is_help=True, help="Jobs that belong together: list, show, members, cancel.")


def _ended(document: dict[str, Any]) -> str:
    return f"{document['total'] - document['left']}/{document['total']}"


GROUPS = (
    Column("group", "group_id", rank=0),
    Column("state", "state", rank=0),
    Column("ended", _ended, rank=0),
    Column("completed", "completed", rank=2),
    Column("failed", "failed", rank=1),
    Column("cancelled", "cancelled", rank=3),
    Column("skipped", "skipped", rank=4),
    Column("mode", "mode", rank=5),
    Column("created", "created_at", rank=2),
)
_GroupId = Annotated[str, Argument(metavar="GROUP_ID", help="The group's id.")]


@command(app, "leasehold groups list")
def list_(session: Session, pages: Pages) -> None:
    """List groups, those that were created last first."""
    from leasehold.admin.job_documents import group_document

    list_pages(session.admin.read.groups, group_document, GROUPS, session.out, pages)


@command(app, "leasehold groups show import-2026-11-15")
def show(session: Session, group_id: _GroupId) -> None:
    """Show a group with its counts."""
    from leasehold.admin.job_documents import group_document

    session.out.details(group_document(session.admin.queue.groups.get(group_id)))


@command(app, "leasehold groups members import-2026-11-15")
def members(session: Session, group_id: _GroupId, pages: Pages) -> None:
    """List the jobs of a group, the last member first."""
    from leasehold.admin.job_documents import job_summary
    from leasehold.admin.pages import JobFilter

    fetch = partial(session.admin.read.jobs, JobFilter(group_id=group_id))
    list_pages(fetch, job_summary, job_columns(session.now()), session.out, pages)


@command(app, "leasehold groups cancel import-2026-11-15 --reason 'wrong file' --yes")
def cancel(session: Asking, group_id: _GroupId) -> None:
    """Cancel the members that wait, and ask those that run to stop."""
    from leasehold.admin.job_documents import group_document

    group = session.admin.queue.groups.get(group_id)
    if not group.has_ended:
        session.confirm(f"Cancel the {group.left:,} members of {group_id} that have not ended?")
    session.out.details(group_document(session.admin.queue.groups.cancel(group_id, reason=session.reason)))
