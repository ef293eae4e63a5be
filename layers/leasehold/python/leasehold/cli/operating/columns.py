"""The columns of each listing, over the same documents that `--json` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.cli.terminal.cells import NOTHING, cell, length, priority_name, relative
from leasehold.cli.terminal.tables import Column

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.admin.job_documents import Document


def _attempts(document: Document) -> str:
    return f"{document.get('attempts', 0)}/{document.get('max_attempts', NOTHING)}"


def _when(document: Document) -> object:
    """When it ended, or is due."""
    return document.get("ended_at") or document.get("due_at") or document.get("scheduled_for")


def _priority(document: Document) -> str:
    return priority_name(document.get("priority"))


def _recurrence(document: Document) -> str:
    from datetime import timedelta

    every = document.get("every")
    if isinstance(every, int | float):
        return f"every {length(timedelta(seconds=every))}"
    return f"{document['cron']} {document['timezone']}"


def _next_run(document: Document) -> str:
    runs = document["next_runs"]
    return cell(runs[0]) if isinstance(runs, list) and runs else NOTHING


def _schedule_state(document: Document) -> str:
    if document["paused"]:
        return "paused"
    return "active" if document["is_active"] else "disabled"


def _group_done(document: Document) -> str:
    total, left = document["total"], document["left"]
    assert isinstance(total, int)
    assert isinstance(left, int)
    return f"{total - left}/{total}"


def job_columns(now: datetime) -> tuple[Column, ...]:
    return (
        Column("job", "job_id", rank=0),
        Column("type", "job_type", rank=0),
        Column("status", "status", rank=0),
        Column("when", lambda document: relative(_when(document), now), rank=1),
        Column("due or ended", lambda document: cell(_when(document)), rank=3),
        Column("attempts", _attempts, rank=4),
        Column("priority", _priority, rank=5),
        Column("held by", "held_by", rank=6),
        Column("key", "dedup_key", rank=7),
        Column("error", "error", rank=2, stretches=True),
    )


def queue_columns(now: datetime) -> tuple[Column, ...]:
    return (
        Column("position", "position", rank=0),
        Column("job", "job_id", rank=0),
        Column("type", "job_type", rank=0),
        Column("priority", _priority, rank=1),
        Column("due", lambda document: relative(document.get("due_at"), now), rank=1),
        Column("attempts", _attempts, rank=2),
    )


RUNS = (
    Column("run", "attempt", rank=0),
    Column("status", "status", rank=0),
    Column("started", "started_at", rank=1),
    Column("ended", "ended_at", rank=2),
    Column("worker", "worker", rank=4),
    Column("error", lambda document: cell(_error(document)), rank=3, stretches=True),
)
TIMELINE = (
    Column("at", "at", rank=0),
    Column("event", "event", rank=0),
    Column("detail", lambda document: _rest(document, {"at", "event"}), rank=1, stretches=True),
)
LETTERS = (
    Column("job", "original_job_id", rank=0),
    Column("type", "job_type", rank=0),
    Column("failed", "failed_at", rank=1),
    Column("attempts", _attempts, rank=3),
    Column("code", "error_code", rank=4),
    Column("reason", "failure_reason", rank=2, stretches=True),
)
SCHEDULES = (
    Column("schedule", "name", rank=0),
    Column("type", "job_type", rank=1),
    Column("when", _recurrence, rank=0),
    Column("state", _schedule_state, rank=0),
    Column("next run", _next_run, rank=1),
    Column("last run", "last_triggered_at", rank=3),
    Column("origin", "origin", rank=4),
    Column("EventBridge", lambda document: cell(document.get("mirror_error")), rank=5, stretches=True),
)
TEMPLATES = (
    Column("template", "name", rank=0),
    Column("type", "job_type", rank=0),
    Column("version", "version", rank=3),
    Column("priority", _priority, rank=2),
    Column("description", "description", rank=1, stretches=True),
)
GROUPS = (
    Column("group", "group_id", rank=0),
    Column("state", "state", rank=0),
    Column("ended", _group_done, rank=0),
    Column("completed", "completed", rank=2),
    Column("failed", "failed", rank=1),
    Column("cancelled", "cancelled", rank=3),
    Column("skipped", "skipped", rank=4),
    Column("mode", "mode", rank=5),
    Column("created", "created_at", rank=2),
)
AUDIT = (
    Column("at", "at", rank=0),
    Column("action", "action", rank=0),
    Column("target", "target", rank=0),
    Column("by", "by", rank=2, stretches=True),
    Column("reason", "reason", rank=1, stretches=True),
)


def _rest(document: Document, without: set[str]) -> str:
    return cell(", ".join(f"{name} {cell(value)}" for name, value in document.items() if name not in without))


def _error(run: Document) -> object:
    """Of a run on its job, or in a dead letter, which has its traceback whole: the last line says what it was."""
    return run.get("error") or str(run.get("traceback") or "").rstrip().rpartition("\n")[2] or run.get("reason")
