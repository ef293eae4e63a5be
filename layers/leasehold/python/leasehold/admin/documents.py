"""Pages, figures and control as JSON-ready documents; single things are in `job_documents` and `others`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from leasehold.admin.job_documents import (
    dead_letter_document,
    job_document,
    job_summary,
    picked,
    set_only,
    time_text,
)
from leasehold.direct_runs.model import DirectState
from leasehold.kernel.keys import to_text
from leasehold.kernel.transitions import JobStatus
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from leasehold.admin.figures import Counted, Counts, LastHour
    from leasehold.admin.job_documents import Document
    from leasehold.admin.pages import Page
    from leasehold.audit.records import AuditRecord
    from leasehold.audit.roots import Flaw
    from leasehold.direct_runs.model import DirectRequest
    from leasehold.kernel.dead_letter import DeadLetter
    from leasehold.kernel.enqueue import Enqueued
    from leasehold.kernel.job import Job
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.registry import Registry, Switch, Switches
    from leasehold.operate.jobs import Cancelled
    from leasehold.operate.measure import Backlog
    from leasehold.operate.redrive import Redriven
    from leasehold.schedules.model import Schedule


def page_document[Item](page: Page[Item], document: Callable[[Item], Document]) -> Document:
    return {
        "items": [document(item) for item in page.items],
        "order": str(page.order),
        "is_ordered": page.is_ordered,
        "searched": page.searched,
        "unreadable": [picked(each, "key", "problem") for each in page.unreadable],
        **set_only(cursor=page.cursor, reached=time_text(page.reached)),
    }


def job_view_document(view: JobView) -> Document:
    """One job with its runs, its timeline and the dead letter that its death left; of one redriven, as which job."""
    dead = view.dead_letter
    return {
        **job_document(view.job, dead),
        **set_only(
            position=view.place,
            logs=view.logs,
            redriven_as=dead.redriven_as if dead else None,
            dead_letter=dead_letter_document(dead) if dead else None,
        ),
    }


def queue_document(view: QueueView) -> Document:
    items = [{"position": place, **job_summary(job)} for place, job in view.places]
    return {"items": items, "is_complete": view.is_complete}


def control_document(control: Control) -> Document:
    switches, registry = control.switches, control.registry
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


def counts_document(counts: Counts) -> Document:
    return {
        "at": to_text(counts.at),
        "statuses": {
            str(status): {
                "total": _counted(counts.total(status)),
                "types": {name: _counted(each) for name, each in sorted(counts.statuses.get(status, {}).items())},
            }
            for status in JobStatus
        },
        "dead_letters": _counted(counts.dead_letters),
    }


def last_hour_document(hour: LastHour) -> Document:
    return {
        **picked(hour, "start", "end", "complete_since"),
        "minutes": [{"at": to_text(at), "ended": _ends(ends)} for at, ends in hour.minutes],
        "types": {job_type: _ends(ends) for job_type, ends in sorted(hour.types.items())},
        **set_only(lateness=hour.lateness and picked(hour.lateness, "sample", "median", "p95", "longest")),
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
    return general | picked(job_type, "concurrency", "concurrency_per_key", "rate", "rate_per_key", "resources")


def _counted(counted: Counted) -> Document:
    return picked(counted, "value", "is_exact")


def _ends(ends: Mapping[JobStatus, int]) -> Document:
    return {str(status): ends[status] for status in JobStatus if status.has_ended and ends.get(status)}


def enqueued_document(enqueued: Enqueued) -> Document:
    return picked(enqueued, "job_id", "created", "replaced")


def cancelled_document(cancelled: Cancelled) -> Document:
    """`job_ended` is False where the job runs, and was asked to stop; or `error` says why it was left as it is."""
    return picked(cancelled, "job_id", "job_ended", "error")


def trail_document(target: str, flaws: Sequence[Flaw]) -> Document:
    return {"target": target, "is_sound": not flaws, "problems": [flaw.problem for flaw in flaws]}


@dataclass(frozen=True, slots=True)
class JobsToCancel:
    """`is_complete`: nothing else matches."""

    jobs: list[Job]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class JobView:
    """A job with its runs, and the dead letter that its death left, resolved or not.

    logs: the address of its log lines in CloudWatch, or the command that prints them.
    place: of those that are due and wait, the how-manieth it is to be dispatched; None if that was not asked for.
    """

    job: Job
    dead_letter: DeadLetter | None = None
    place: int | None = None
    logs: str | None = None


@dataclass(frozen=True, slots=True)
class QueueView:
    """Waiting jobs with their places, the next first; `is_complete` if nobody waits behind them."""

    places: tuple[tuple[int, Job], ...]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """`next_runs` are the coming slots; none while it is disabled or paused."""

    schedule: Schedule
    next_runs: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class Control:
    switches: Switches
    registry: Registry
