"""Access patterns of templates: each change commits with its audit record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.domain.conditions import Equals
from leasehold.store import keys
from leasehold.store.audits import Audits
from leasehold.store.partitions import records_in
from leasehold.store.table import Delete, Put
from leasehold.store.template_records import template_of, template_record
from leasehold.store.unreadable import read_each, read_one

if TYPE_CHECKING:
    from leasehold.domain.conditions import Condition
    from leasehold.domain.template import Template
    from leasehold.store.audits import Deed
    from leasehold.store.table import Table
    from leasehold.store.unreadable import Listed


class Templates:
    def __init__(self, table: Table) -> None:
        self._table = table
        self._audits = Audits(table)

    def get(self, name: str) -> Template | None:
        record = self._table.get(keys.template(name))
        return read_one(record, template_of) if record else None

    def all(self) -> Listed[Template]:
        return read_each(records_in(self._table, keys.TEMPLATE), template_of)

    def commit(self, old: Template | None, new: Template, deed: Deed, *, token: str) -> Template | None:
        """Put a template with its audit record; None if it is not, or no longer, what was read."""
        audit = self._audits.audit(deed)
        put = Put(
            key=keys.template(new.name),
            record={**template_record(new), "audit_head": audit.head},
            conditions=_as_read(old) if old else None,
        )
        is_done = self._audits.commit([put], audit, token=token)
        return replace(new, audit_head=audit.head) if is_done else None

    def delete(self, template: Template, deed: Deed, *, token: str) -> bool:
        """Remove a template, and leave the record of it; False if it is no longer what was read."""
        gone = Delete(key=keys.template(template.name), conditions=_as_read(template))
        return self._audits.commit([gone], self._audits.audit(deed), token=token)


def _as_read(template: Template) -> tuple[Condition, ...]:
    """By the hash of its last record: a version recurs once a name is used again after a delete."""
    assert template.audit_head is not None
    return (Equals("audit_head", template.audit_head),)
