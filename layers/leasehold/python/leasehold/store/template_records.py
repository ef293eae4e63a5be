"""A template as a record: what it says, and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.domain.due import Priority
from leasehold.domain.instants import from_text, to_text
from leasehold.domain.template import NO_DEFAULTS, Template
from leasehold.store.retries import retry_of_text, retry_text

if TYPE_CHECKING:
    from leasehold.store.table import Record


def preset_record(template: Template) -> Record:
    optional: dict[str, Any] = {
        "payload": None if template.payload_text == NO_DEFAULTS else template.payload_text,
        "priority": None if template.priority is None else int(template.priority),
        "max_attempts": template.max_attempts,
        "retry": retry_text(template.retry) if template.retry else None,
        "webhook": template.webhook,
        "description": template.description,
    }
    return {"job_type": template.job_type, **{name: value for name, value in optional.items() if value is not None}}


def template_record(template: Template) -> Record:
    """All of a template but its audit head, which every write sets anew."""
    return {
        **preset_record(template),
        "created_by": template.created_by,
        "created_at": to_text(template.created_at),
        "version": template.version,
    }


def template_of(record: Record) -> Template:
    read: dict[str, Any] = record
    return Template(
        name=read["SK"],
        job_type=read["job_type"],
        payload_text=read.get("payload", NO_DEFAULTS),
        priority=Priority(read["priority"]) if "priority" in read else None,
        max_attempts=read.get("max_attempts"),
        retry=retry_of_text(read["retry"]) if "retry" in read else None,
        webhook=read.get("webhook"),
        description=read.get("description"),
        created_by=read["created_by"],
        created_at=from_text(read["created_at"]),
        version=read["version"],
        audit_head=read.get("audit_head"),
    )
