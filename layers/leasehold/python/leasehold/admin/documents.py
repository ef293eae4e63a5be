"""Pages, control and the answers of actions as JSON-ready documents; single things are in `job_documents`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from leasehold.admin.job_documents import time_text
from leasehold.direct_runs.model import DirectState
from leasehold.documents import picked, set_only

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.admin.pages import Page
    from leasehold.audit.records import AuditRecord
    from leasehold.audit.roots import Flaw
    from leasehold.direct_runs.model import DirectRequest
    from leasehold.documents import Document
    from leasehold.kernel.enqueue import Enqueued
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.registry import Registry, Switch, Switches
    from leasehold.limits.model import Rate
    from leasehold.operate.jobs import Cancelled
    from leasehold.operate.measure import Backlog
    from leasehold.operate.redrive import Redriven


def page_document[Item](page: Page[Item], document: Callable[[Item], Document]) -> Document:
    return {
        "items": [document(item) for item in page.items],
        "order": str(page.order),
        "is_ordered": page.is_ordered,
        "searched": page.searched,
        "unreadable": [picked(each, "key", "problem") for each in page.unreadable],
        **set_only(cursor=page.cursor, reached=time_text(page.reached)),
    }


def control_document(switches: Switches, registry: Registry) -> Document:
    return {
        "pauses": {job_type: _switch(switch) for job_type, switch in sorted(switches.pauses.items())},
        "reservations": {
            job_type: picked(each, "run_id", "since", "until")
            for job_type, each in sorted(switches.reservations.items())
        },
        "types": {name: _type(job_type) for name, job_type in sorted(registry.types.items())},
        "shards": registry.shards,
        "ended_index": registry.ended_index,
        **set_only(
            halt=_switch(switches.halt) if switches.halt else None,
            concurrency=registry.concurrency,
            resources=dict(registry.resources) or None,
            # Removed since: their jobs wait until they are deployed again.
            not_deployed=sorted(registry.retired) or None,
            require_reasons=registry.require_reasons or None,
        ),
    }


def backlog_document(backlog: Backlog) -> Document:
    return {
        "types": {
            job_type: {"depth": depth, **set_only(oldest_due_at=time_text(backlog.oldest.get(job_type)))}
            for job_type, depth in sorted(backlog.depth.items())
        },
        "dead_letters": backlog.dead_letters,
        **set_only(oldest_dead_letter_at=time_text(backlog.oldest_dead_letter)),
    }


def audit_document(record: AuditRecord) -> Document:
    entry = record.audit_entry
    return {
        "id": entry.audit_entry_id,
        **picked(entry, "target", "action", "by", "at", "reason", "details"),
        **picked(record, "previous", "head"),
    }


def redriven_document(redriven: Redriven) -> Document:
    return picked(redriven, "dead_letter_id", "job_id", "error")


def direct_run_document(request: DirectRequest, now: datetime) -> Document:
    """A direct run that was asked for; `result` is as it is stored, see leasehold.admin.job_documents."""
    state = request.state_at(now)
    error, code = request.error, request.error_code
    if state is DirectState.LOST:
        error, code = "whoever was to do it has not said how it went; see the handler's log", "direct_run_lost"
    return {
        **picked(request, "run_id", "job_type"),
        "state": str(state),
        **picked(request, "by", "asked_at", "expires_at"),
        **({} if request.result_text is None else {"result": json.loads(request.result_text)}),
        **picked(request, "started_at", "ended_at"),
        **set_only(
            error=error and error.rstrip().rpartition("\n")[2],
            error_code=code,
            traceback=error if error and "\n" in error else None,
        ),
    }


def _switch(switch: Switch) -> Document:
    opened = picked(switch.circuit, "probe_at", "probe") if switch.circuit else None
    return {**picked(switch, "by", "at", "reason"), **set_only(circuit=opened)}


def _type(job_type: JobType) -> Document:
    general = picked(job_type, "timeout", "priority", "max_attempts", "retry", "on_full")
    rates = {"rate": _rate(job_type.rate), "rate_per_key": _rate(job_type.rate_per_key)}
    limits = picked(job_type, "concurrency", "concurrency_per_key") | set_only(**rates)
    return general | limits | picked(job_type, "resources")


def _rate(rate: Rate | None) -> Document | None:
    return None if rate is None else {"count": rate.count, "seconds": rate.per.total_seconds()}


def enqueued_document(enqueued: Enqueued) -> Document:
    return picked(enqueued, "job_id", "created", "replaced")


def cancelled_document(cancelled: Cancelled) -> Document:
    """`job_ended` is False where the job runs, and was asked to stop; or `error` says why it was left as it is."""
    return picked(cancelled, "job_id", "job_ended", "error")


def trail_document(target: str, flaws: Sequence[Flaw]) -> Document:
    return {"target": target, "is_sound": not flaws, "problems": [flaw.problem for flaw in flaws]}
