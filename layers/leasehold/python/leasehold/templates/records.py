"""Access patterns of templates: each change commits with its audit record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from leasehold.audit.records import Audits
from leasehold.kernel.keys import Priority
from leasehold.kernel.partitions import records_in
from leasehold.kernel.records import Codec, Kind
from leasehold.kernel.retry import retry_of_text, retry_text
from leasehold.kernel.table import JOBS, Delete, Equals, Key, Put, check_format
from leasehold.kernel.unreadable import read_each, read_one
from leasehold.templates.model import Template

if TYPE_CHECKING:
    from leasehold.audit.records import AuditEntry
    from leasehold.kernel.table import Condition, Record, Table
    from leasehold.kernel.unreadable import Listed


TEMPLATE = "template"


class Templates:
    def __init__(self, table: Table) -> None:
        self._table = table
        self._audits = Audits(table)

    def get(self, name: str) -> Template | None:
        record = self._table.get(template_key(name))
        return read_one(record, template_of) if record else None

    def all(self) -> Listed[Template]:
        return read_each(records_in(self._table, TEMPLATE), template_of)

    def commit(self, old: Template | None, new: Template | None, audit_entry: AuditEntry) -> Template | None:
        """Put a template with its audit record, or remove it; None if it is not, or no longer, what was read."""
        kept = cast("Template", new or old)
        audit, key = self._audits.audit(audit_entry), template_key(kept.name)
        if new is None:
            change: Put | Delete = Delete(key=key, conditions=_as_read(kept))
        else:
            record = {**template_record(new), "audit_head": audit.head}
            change = Put(key=key, record=record, conditions=_as_read(old) if old else None)
        return replace(kept, audit_head=audit.head) if self._audits.commit([change], audit) else None


def _as_read(template: Template) -> tuple[Condition, ...]:
    """By the hash of its last record: a version recurs once a name is used again after a delete."""
    assert template.audit_head is not None
    return (Equals("audit_head", template.audit_head),)


_CODEC = Codec(
    Template,
    {"Priority": Kind(int, Priority), "RetryPolicy": Kind(str, retry_of_text, retry_text)},
    stored_as={"payload_text": "payload"},
    without={"name", "audit_head"},
    always={"version"},
)
_ORIGIN = frozenset({"created_by", "created_at"})


def preset_record(template: Template) -> Record:
    """What its audit entries say of it."""
    return {name: value for name, value in template_record(template).items() if name not in _ORIGIN}


def template_record(template: Template) -> Record:
    """All of a template but its audit head, which every write sets anew."""
    return _CODEC.record(template)


def template_of(record: Record) -> Template:
    check_format(record, f"template {record['SK']!r}")
    read: dict[str, Any] = record
    return Template(name=read["SK"], audit_head=read.get("audit_head"), **_CODEC.values(record))


def template_key(name: str) -> Key:
    return Key(JOBS, (TEMPLATE, name))
