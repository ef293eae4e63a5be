"""Fill a request from the template that it names: what the caller says wins, then the template, then the job type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.domain.errors import InvalidOptionError
from leasehold.domain.job_type import parse_job_type
from leasehold.domain.template import merged

if TYPE_CHECKING:
    from leasehold.domain.template import Template
    from leasehold.engine.draft import JobRequest
    from leasehold.engine.parts import Parts


def filled(request: JobRequest, parts: Parts) -> JobRequest:
    if request.template is None:
        return request
    template = parts.templates.get(request.template)
    return replace(
        request,
        job_type=job_type_from(template, request.job_type),
        payload_text=merged(template.payload_text, request.payload_text),
        priority=template.priority if request.priority is None else request.priority,
        max_attempts=template.max_attempts if request.max_attempts is None else request.max_attempts,
        retry=template.retry if request.retry is None else request.retry,
        webhook=template.webhook if request.webhook is None else request.webhook,
        template=None,
        made_from=template.name,
    )


def job_type_from(template: Template, given: str | None) -> str:
    """A template's jobs are of its type; who names one as well must mean the same."""
    if given is not None and parse_job_type(given) != template.job_type:
        raise InvalidOptionError(
            given,
            f"template {template.name!r} makes {template.job_type} jobs, not these",
            "Leave the job type out, or use another template.",
        )
    return template.job_type
