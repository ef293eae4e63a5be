"""`leasehold groups`: jobs that belong together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from leasehold.cli.command import command
from leasehold.cli.operating.options import Cursor, Everything, Limit, Reason, Yes
from leasehold.cli.pages import DEFAULT_LIMIT, list_pages
from leasehold.cli.session import Session

if TYPE_CHECKING:
    from leasehold.groups.model import Group

app = typer.Typer(no_args_is_help=True, help="Jobs that belong together: list, show, members, cancel.")

_GroupId = Annotated[str, typer.Argument(metavar="GROUP_ID", help="The group's id.")]


@command(app, "list", example="leasehold groups list")
def list_groups(
    session: Session, *, limit: Limit = DEFAULT_LIMIT, everything: Everything = False, cursor: Cursor = None
) -> None:
    """List groups, those that were created last first."""
    from leasehold.admin.job_documents import group_document
    from leasehold.cli.operating.columns import GROUPS

    fetch = session.admin.read.groups
    list_pages(fetch, group_document, GROUPS, session.out, limit=limit, cursor=cursor, everything=everything)


@command(app, "show", example="leasehold groups show import-2026-11-15")
def show(session: Session, group_id: _GroupId) -> None:
    """Show a group with its counts."""
    _show(session, session.admin.read.group(group_id))


@command(app, "members", example="leasehold groups members import-2026-11-15")
def members(
    session: Session,
    group_id: _GroupId,
    *,
    limit: Limit = DEFAULT_LIMIT,
    everything: Everything = False,
    cursor: Cursor = None,
) -> None:
    """List the jobs of a group, the last member first."""
    from leasehold.admin.job_documents import job_summary
    from leasehold.admin.pages import JobFilter
    from leasehold.cli.operating.columns import job_columns

    fetch = partial(session.admin.read.jobs, JobFilter(group_id=group_id))
    columns = job_columns(session.now())
    list_pages(fetch, job_summary, columns, session.out, limit=limit, cursor=cursor, everything=everything)


@command(app, "cancel", example="leasehold groups cancel import-2026-11-15 --reason 'wrong file' --yes")
def cancel(session: Session, group_id: _GroupId, *, reason: Reason = "", yes: Yes = False) -> None:
    """Cancel the members that wait, and ask those that run to stop."""
    group = session.admin.read.group(group_id)
    session.confirm(f"Cancel the {group.left:,} members of {group_id} that have not ended?", yes=yes or group.has_ended)
    _show(session, session.admin.queue.groups.cancel(group_id, reason=reason))


def _show(session: Session, group: Group) -> None:
    from leasehold.admin.job_documents import group_document
    from leasehold.cli.terminal.details import show_fields

    document = group_document(group)
    if session.out.as_json:
        session.out.document(document)
    else:
        show_fields(document, session.out.console)
