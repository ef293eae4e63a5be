"""`leasehold templates`: named presets for jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from leasehold.cli.command import command
from leasehold.cli.operating.options import (
    Cursor,
    Everything,
    JobTypeArgument,
    Limit,
    MadeJobTypeOption,
    PayloadFileOption,
    PayloadOption,
    PriorityOption,
    Reason,
)
from leasehold.cli.pages import DEFAULT_LIMIT, list_pages
from leasehold.cli.session import Session

if TYPE_CHECKING:
    from leasehold.templates.model import Template

app = typer.Typer(no_args_is_help=True, help="Named presets for jobs: list, show, create, update, delete.")

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The template's name.")]
_Attempts = Annotated[int | None, typer.Option(help="How often its jobs are tried.")]
_Delays = Annotated[str | None, typer.Option(help="Delays between attempts, e.g. 10s,1m,5m; the last one repeats.")]
_Webhook = Annotated[str | None, typer.Option(help="An https address that is told of each run's end.")]
_Description = Annotated[str | None, typer.Option(help="What it is for.")]


@command(app, "list", example="leasehold templates list")
def list_templates(
    session: Session, *, limit: Limit = DEFAULT_LIMIT, everything: Everything = False, cursor: Cursor = None
) -> None:
    """List templates by name."""
    from leasehold.admin.job_documents import template_document
    from leasehold.cli.operating.columns import TEMPLATES

    fetch = session.admin.read.templates
    list_pages(fetch, template_document, TEMPLATES, session.out, limit=limit, cursor=cursor, everything=everything)


@command(app, "show", example="leasehold templates show nightly")
def show(session: Session, name: _Name) -> None:
    """Show what a template gives to jobs."""
    _show(session, session.admin.read.template(name))


@command(
    app,
    "create",
    example="""leasehold templates create nightly daily_summary --payload '{"style": "long"}' --reason 'asked for'""",
)
def create(
    session: Session,
    name: _Name,
    job_type: JobTypeArgument,
    *,
    reason: Reason = "",
    payload: PayloadOption = None,
    payload_file: PayloadFileOption = None,
    priority: PriorityOption = None,
    max_attempts: _Attempts = None,
    retry_delays: _Delays = None,
    webhook: _Webhook = None,
    description: _Description = None,
) -> None:
    """Make a template. What is left out is left to the job type."""
    from leasehold.cli.operating.values import parse_delays, parse_priority, read_payload

    made = session.admin.queue.templates.create(
        name,
        job_type,
        read_payload(payload, payload_file),
        priority=parse_priority(priority),
        max_attempts=max_attempts,
        retry=parse_delays(retry_delays),
        webhook=webhook,
        description=description,
        reason=reason,
    )
    _show(session, made)


@command(app, "update", example="leasehold templates update nightly --priority low --reason 'not urgent'")
def update(
    session: Session,
    name: _Name,
    *,
    reason: Reason = "",
    job_type: MadeJobTypeOption = None,
    payload: PayloadOption = None,
    payload_file: PayloadFileOption = None,
    priority: PriorityOption = None,
    max_attempts: _Attempts = None,
    retry_delays: _Delays = None,
    webhook: _Webhook = None,
    description: _Description = None,
    remove: Annotated[
        list[str] | None, typer.Option(help="Leave this option to the job type again, e.g. priority; may be repeated.")
    ] = None,
) -> None:
    """Change what is passed and leave the rest; a payload replaces all defaults."""
    from leasehold.cli.operating.values import parse_delays, parse_priority, read_payload

    changed = session.admin.queue.templates.update(
        name,
        job=job_type,
        payload=read_payload(payload, payload_file),
        priority=parse_priority(priority),
        max_attempts=max_attempts,
        retry=parse_delays(retry_delays),
        webhook=webhook,
        description=description,
        remove=remove or (),
        reason=reason,
    )
    _show(session, changed)


@command(app, "delete", example="leasehold templates delete nightly --reason 'nobody uses it'")
def delete(session: Session, name: _Name, *, reason: Reason = "") -> None:
    """Remove a template; its jobs stay as they are."""
    session.admin.queue.templates.delete(name, reason=reason)
    session.out.done({"name": name, "deleted": True}, f"{name} is deleted")


def _show(session: Session, template: Template) -> None:
    from leasehold.admin.job_documents import template_document
    from leasehold.cli.terminal.details import show_fields, show_json

    document = template_document(template)
    if session.out.as_json:
        session.out.document(document)
        return
    show_fields(document, session.out.console, without=("payload",))
    show_json("payload", document["payload"], session.out.console)
