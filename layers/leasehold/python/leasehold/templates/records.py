"""Access patterns of templates: each change commits with its audit record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leasehold.audit.records import Audits
from leasehold.kernel import partitions
from leasehold.kernel.keys import Priority, from_text, to_text
from leasehold.kernel.partitions import records_in
from leasehold.kernel.retry import retry_of_text, retry_text
from leasehold.kernel.table import Delete, Equals, Put, check_format
from leasehold.kernel.unreadable import read_each, read_one
from leasehold.templates.model import NO_DEFAULTS, Template

if TYPE_CHECKING:
    from leasehold.audit.records import AuditEntry
    from leasehold.kernel.table import Condition, Record, Table
    from leasehold.kernel.unreadable import Listed


class Templates:
    def __init__(self, table: Table) -> None:
        self._table = table
        self._audits = Audits(table)

    def get(self, name: str) -> Template | None:
        record = self._table.get(partitions.template(name))
        return read_one(record, template_of) if record else None

    def all(self) -> Listed[Template]:
        return read_each(records_in(self._table, partitions.TEMPLATE), template_of)

    def commit(self, old: Template | None, new: Template, audit_entry: AuditEntry, *, token: str) -> Template | None:
        """Put a template with its audit record; None if it is not, or no longer, what was read."""
        audit = self._audits.audit(audit_entry)
        put = Put(
            key=partitions.template(new.name),
            record={**template_record(new), "audit_head": audit.head},
            conditions=_as_read(old) if old else None,
        )
        is_done = self._audits.commit([put], audit, token=token)
        return replace(new, audit_head=audit.head) if is_done else None

    def delete(self, template: Template, audit_entry: AuditEntry, *, token: str) -> bool:
        """Remove a template, and leave the record of it; False if it is no longer what was read."""
        gone = Delete(key=partitions.template(template.name), conditions=_as_read(template))
        return self._audits.commit([gone], self._audits.audit(audit_entry), token=token)


def _as_read(template: Template) -> tuple[Condition, ...]:
    """By the hash of its last record: a version recurs once a name is used again after a delete."""
    assert template.audit_head is not None
    return (Equals("audit_head", template.audit_head),)


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
    check_format(record, f"template {record['SK']!r}")
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
