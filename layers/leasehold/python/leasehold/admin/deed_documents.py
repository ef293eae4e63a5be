"""What actions answer, and what the audit trail says of them, as JSON-ready documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from leasehold.domain.instants import to_text
from leasehold.domain.resource_documents import set_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.domain.errors import LeaseholdError
    from leasehold.domain.resource_documents import Document
    from leasehold.engine.enqueue import Enqueued
    from leasehold.engine.operate import Cancelled
    from leasehold.engine.redrive import Redriven
    from leasehold.engine.verify import Flaw
    from leasehold.store.audits import AuditRecord


def enqueued_document(enqueued: Enqueued) -> Document:
    return {"job_id": enqueued.job_id, "created": enqueued.created, **set_only(replaced=enqueued.replaced)}


def cancelled_document(cancelled: Cancelled) -> Document:
    """`job_ended` is False where the job runs, and was asked to stop."""
    return {"job_id": cancelled.job_id, "job_ended": cancelled.job_ended}


def redriven_document(redriven: Redriven) -> Document:
    return {
        "dead_letter_id": redriven.dead_letter_id,
        **set_only(job_id=redriven.job_id, error=_error(redriven.error) if redriven.error else None),
    }


def audit_document(record: AuditRecord) -> Document:
    deed = record.deed
    return {
        "at": to_text(deed.at),
        "target": deed.target,
        "action": deed.action,
        "by": deed.by,
        "reason": deed.reason,
        "details": json.loads(deed.details),
        "deed_id": deed.deed_id,
        "previous": record.previous,
        "head": record.head,
    }


def trail_document(target: str, flaws: Sequence[Flaw]) -> Document:
    return {"target": target, "is_sound": not flaws, "problems": [flaw.problem for flaw in flaws]}


def _error(error: LeaseholdError) -> Document:
    return {"code": error.code, "message": str(error)}
