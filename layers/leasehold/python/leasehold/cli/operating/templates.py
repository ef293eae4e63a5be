"""`leasehold templates`: named presets for jobs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from leasehold.cli.command import command
from leasehold.cli.operating.jobs import PRIORITY
from leasehold.cli.options import (
    JobTypeArgument,
    MadeJobTypeOption,
    Pages,
    PresetWithTries,
    given,
    option,
)
from leasehold.cli.pages import list_pages
from leasehold.cli.session import Acting, Session
from leasehold.cli.terminal import Column

if TYPE_CHECKING:
    from leasehold.templates.model import Template

app = typer.Typer(no_args_is_help=True, help="Named presets for jobs: list, show, create, update, delete.")

TEMPLATES = (
    Column("template", "name", rank=0),
    Column("type", "job_type", rank=0),
    Column("version", "version", rank=3),
    replace(PRIORITY, rank=2),
    Column("description", "description", rank=1, stretches=True),
)
_Name = Annotated[str, Argument(metavar="NAME", help="The template's name.")]


@dataclass(frozen=True, kw_only=True)
class _Preset(PresetWithTries):
    description: str | None = option(help="What it is for.")


@command(app, "leasehold templates list")
def list_(session: Session, pages: Pages) -> None:
    """List templates by name."""
    from leasehold.admin.job_documents import template_document

    list_pages(session.admin.read.templates, template_document, TEMPLATES, session.out, pages)


@command(app, "leasehold templates show nightly")
def show(session: Session, name: _Name) -> None:
    """Show what a template gives to jobs."""
    _show(session, session.admin.queue.templates.get(name))


@command(app, """leasehold templates create nightly daily_summary --payload '{"style": "long"}' --reason 'asked for'""")
def create(session: Acting, name: _Name, job_type: JobTypeArgument, *, preset: _Preset) -> None:
    """Make a template. What is left out is left to the job type."""
    _show(session, session.admin.queue.templates.create(name, job_type, reason=session.reason, **given(preset)))


@command(app, "leasehold templates update nightly --priority low --reason 'not urgent'")
def update(
    session: Acting,
    name: _Name,
    *,
    job_type: MadeJobTypeOption = None,
    preset: _Preset,
    remove: Annotated[
        list[str] | None, Option(help="Leave this option to the job type again, e.g. priority; may be repeated.")
    ] = None,
) -> None:
    """Change what is passed and leave the rest; a payload replaces all defaults."""
    update = session.admin.queue.templates.update
    _show(session, update(name, job=job_type, remove=remove or (), reason=session.reason, **given(preset)))


@command(app, "leasehold templates delete nightly --reason 'nobody uses it'")
def delete(session: Acting, name: _Name) -> None:
    """Remove a template; its jobs stay as they are."""
    session.admin.queue.templates.delete(name, reason=session.reason)
    session.out.done({"name": name, "deleted": True}, f"{name} is deleted")


def _show(session: Session, template: Template) -> None:
    from leasehold.admin.job_documents import template_document

    session.out.details(template_document(template))
