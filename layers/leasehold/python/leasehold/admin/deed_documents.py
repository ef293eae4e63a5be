"""What actions answer, as JSON-ready documents; redrives and audit records are in documents.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.resource_documents import set_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.audit.verify import Flaw
    from leasehold.domain.resource_documents import Document
    from leasehold.engine.enqueue import Enqueued
    from leasehold.engine.operate import Cancelled


def enqueued_document(enqueued: Enqueued) -> Document:
    return {"job_id": enqueued.job_id, "created": enqueued.created, **set_only(replaced=enqueued.replaced)}


def cancelled_document(cancelled: Cancelled) -> Document:
    """`job_ended` is False where the job runs, and was asked to stop."""
    return {"job_id": cancelled.job_id, "job_ended": cancelled.job_ended}


def trail_document(target: str, flaws: Sequence[Flaw]) -> Document:
    return {"target": target, "is_sound": not flaws, "problems": [flaw.problem for flaw in flaws]}
