"""Templates: list and look at them, make, change and remove them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from leasehold.admin.documents import page_document
from leasehold.admin.job_documents import template_document
from leasehold.api.answers import Answer, answered
from leasehold.api.bodies import NewTemplateBody, ReasonBody, TemplateBody
from leasehold.api.callers import Operation, asked_for
from leasehold.api.errors import NoSuchTemplateError
from leasehold.api.requests import Paging
from leasehold.templates.model import UnknownTemplateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.api.bodies import TemplatePreset
    from leasehold.api.callers import Call


def list_templates(call: Call) -> Answer:
    query = asked_for(Paging, call.query)
    return answered(page_document(call.read.templates(limit=query.limit, cursor=query.cursor), template_document))


def create(call: Call) -> Answer:
    body = asked_for(NewTemplateBody, call.body)
    made = call.queue.templates.create(body.name, body.job_type, **_options(body), reason=body.reason)
    return Answer(status=201, document=template_document(made))


def show(call: Call) -> Answer:
    with _named_by_the_path():
        return answered(template_document(call.read.template(call.path["name"])))


def update(call: Call) -> Answer:
    body = asked_for(TemplateBody, call.body)
    with _named_by_the_path():
        changed = call.queue.templates.update(
            call.path["name"], job=body.job_type, **_options(body), remove=body.remove, reason=body.reason
        )
    return answered(template_document(changed))


def delete(call: Call) -> Answer:
    with _named_by_the_path():
        call.queue.templates.delete(call.path["name"], reason=asked_for(ReasonBody, call.body).reason)
    return answered({"name": call.path["name"], "deleted": True})


@contextmanager
def _named_by_the_path() -> Iterator[None]:
    """Elsewhere an unknown template is a mistake in the body; here it is the thing that is not there."""
    try:
        yield
    except UnknownTemplateError as error:
        raise NoSuchTemplateError(error) from error


def _options(body: TemplatePreset) -> dict[str, Any]:
    return {
        "payload": body.payload,
        "priority": body.priority,
        "max_attempts": body.max_attempts,
        "retry": None if body.retry is None else body.retry.policy(),
        "webhook": body.webhook,
        "description": body.description,
    }


OPERATIONS = (
    Operation(
        method="GET",
        path="/api/templates",
        name="list_templates",
        summary="List templates by name",
        act=list_templates,
        query=Paging,
        answers={200: "TemplatePage"},
    ),
    Operation(
        method="POST",
        path="/api/templates",
        name="create_template",
        summary="Keep what jobs of a type are often given",
        act=create,
        body=NewTemplateBody,
        answers={201: "Template"},
    ),
    Operation(
        method="GET",
        path="/api/templates/{name}",
        name="get_template",
        summary="One template",
        act=show,
        answers={200: "Template"},
    ),
    Operation(
        method="PATCH",
        path="/api/templates/{name}",
        name="update_template",
        summary="Change what is given, leave the rest; jobs that exist keep what they have",
        act=update,
        body=TemplateBody,
        answers={200: "Template"},
    ),
    Operation(
        method="DELETE",
        path="/api/templates/{name}",
        name="delete_template",
        summary="Remove a template that no schedule needs",
        act=delete,
        body=ReasonBody,
        answers={200: "Deleted"},
    ),
)
