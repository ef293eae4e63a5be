"""Templates: list and look at them, make, change and remove them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from leasehold.admin.documents import page_document
from leasehold.admin.job_documents import template_document
from leasehold.api.answers import Answer
from leasehold.api.bodies import NewTemplateBody, ReasonBody, TemplateBody, options_of
from leasehold.api.errors import NoSuchTemplateError
from leasehold.api.operations import Call, route
from leasehold.api.requests import Paging
from leasehold.aws.api_access import Role
from leasehold.documents import Document
from leasehold.templates.model import UnknownTemplateError

if TYPE_CHECKING:
    from collections.abc import Iterator


@route("GET /api/templates", Role.VIEWER, "TemplatePage")
def list_templates(call: Call, query: Paging) -> Document:
    """List templates by name."""
    return page_document(call.read.templates(**dict(query)), template_document)


@route("POST /api/templates", Role.ADMIN, "Template", statuses=(201,))
def create_template(call: Call, body: NewTemplateBody) -> Answer:
    """Keep what jobs of a type are often given."""
    return Answer(status=201, document=template_document(call.queue.templates.create(**options_of(body))))


@route("GET /api/templates/{name}", Role.VIEWER, "Template")
def get_template(call: Call, name: str) -> Document:
    """One template."""
    with _named_by_the_path():
        return template_document(call.queue.templates.get(name))


@route("PATCH /api/templates/{name}", Role.ADMIN, "Template")
def update_template(call: Call, name: str, body: TemplateBody) -> Document:
    """Change what is given, leave the rest; jobs that exist keep what they have."""
    with _named_by_the_path():
        return template_document(call.queue.templates.update(name, **options_of(body)))


@route("DELETE /api/templates/{name}", Role.ADMIN, "Deleted")
def delete_template(call: Call, name: str, body: ReasonBody) -> Document:
    """Remove a template that no schedule needs."""
    with _named_by_the_path():
        call.queue.templates.delete(name, reason=body.reason)
    return {"name": name, "deleted": True}


@contextmanager
def _named_by_the_path() -> Iterator[None]:
    """Elsewhere an unknown template is a mistake in the body; here it is the thing that is not there."""
    try:
        yield
    except UnknownTemplateError as error:
        raise NoSuchTemplateError(error) from error
