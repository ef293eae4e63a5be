"""Audit records: who did what to what, chained per target, written in the same transaction as the deed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from leasehold.domain.instants import to_text
from leasehold.store import keys
from leasehold.store.table import Put, TransactionCancelled

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.store.table import Change, Record, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """An action that leaves a record: by whom, when, why, and what it changed."""

    target: str
    action: str
    by: str
    at: datetime
    reason: str
    details: str
    deed_id: str


def audited(deed: Deed, previous: str | None) -> tuple[Put, str]:
    """The record of a deed, and the head that its target must carry from then on.

    The head is a hash over the record and the head before it: a record that is changed, removed or moved breaks the
    chain at its target.
    """
    record: Record = {
        "action": deed.action,
        "by": deed.by,
        "at": to_text(deed.at),
        "reason": deed.reason,
        "details": deed.details,
        "previous": previous or "",
    }
    head = hashlib.sha256(json.dumps([deed.target, deed.deed_id, record], sort_keys=True).encode()).hexdigest()
    record["head"] = head
    return Put(key=keys.audit(deed.target, to_text(deed.at), deed.deed_id), record=record), head


def committed(table: Table, change: Change, record: Put, *, token: str) -> bool:
    """Make a change together with the record of it; False if its target is not, or no longer, what was read."""
    try:
        table.transact([change, record], token=token)
    except TransactionCancelled as cancelled:
        # Our own record stands there if an earlier try succeeded and its response was lost.
        return cast("Record", cancelled.failed.get(1) or {}).get("head") == record.record["head"]
    return True
