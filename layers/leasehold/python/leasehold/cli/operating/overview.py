"""How the system stands, at a glance: what `status` prints and `top` keeps printing."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from leasehold.admin.documents import page_document
from leasehold.admin.job_documents import job_summary
from leasehold.admin.pages import JobFilter
from leasehold.cli.terminal import NOTHING, Column, cell, clean, relative
from leasehold.documents import set_only
from leasehold.kernel.keys import to_text
from leasehold.kernel.transitions import JobStatus

if TYPE_CHECKING:
    from leasehold.admin.reading import Admin
    from leasehold.documents import Document

RUNNING_SHOWN = 20

TYPES = (
    Column("type", "type", rank=0),
    Column("state", "state", rank=1),
    Column("due", "due", rank=0),
    Column("oldest due", "oldest", rank=1),
    *(
        Column(str(status).replace("_", " "), str(status), rank=rank)
        for status, rank in zip(JobStatus, (2, 2, 4, 3, 2, 5), strict=True)
    ),
)


def overview(admin: Admin, now: datetime) -> Document:
    """Switches, what is due, and counts, asked side by side; a handful of requests for each type and status."""
    # The registry is asked first: all of them need it.
    control = admin.read.control()
    backlog, counts = admin.services.pool.submit(admin.read.backlog), admin.services.pool.submit(admin.read.counts)
    return {"at": to_text(now), "control": control, "backlog": backlog.result(), "counts": counts.result()}


def live_overview(admin: Admin, now: datetime) -> Document:
    """The same with what runs now, and with the last hour where the deployment can tell it."""
    hour = admin.read.last_hour()
    running = admin.read.jobs(JobFilter(statuses=frozenset({JobStatus.IN_PROGRESS})), limit=RUNNING_SHOWN)
    return {**overview(admin, now), "running": page_document(running, job_summary), **set_only(last_hour=hour)}


def headlines(document: Document, now: datetime) -> list[tuple[str, str]]:
    """Lines about the whole system, each with the style that it deserves."""
    control, backlog, counts = (cast("dict[str, Any]", document[name]) for name in ("control", "backlog", "counts"))
    halt = control.get("halt")
    lines = [("the system is up", "green")] if halt is None else [(f"HALTED {_by(halt, now)}", "bold red")]
    for job_type, pause in control["pauses"].items():
        circuit = pause.get("circuit")
        what = f"circuit open, next probe {cell(circuit['probe_at'])}:" if circuit else "paused"
        lines.append((f"{job_type} {what} {_by(pause, now)}", "yellow"))
    for job_type, reserved in control["reservations"].items():
        lines.append((f"{job_type} reserved for a direct run until {cell(reserved['until'])}", "yellow"))
    dead_letters, oldest = counts["dead_letters"], backlog.get("oldest_dead_letter_at")
    if dead_letters["value"]:
        age = relative(oldest, now, is_past=True)
        lines.append((f"dead letters: {_figure(dead_letters)}, the oldest {age}", "red"))
    else:
        lines.append(("dead letters: none", ""))
    return [(clean(line), style) for line, style in lines]


def rows_by_type(document: Document, now: datetime) -> list[Document]:
    control, backlog, counts = (cast("dict[str, Any]", document[name]) for name in ("control", "backlog", "counts"))
    statuses = counts["statuses"]
    counted_types = {name for each in statuses.values() for name in each["types"]}
    rows: list[Document] = []
    for job_type in sorted({*control["types"], *backlog["types"], *counted_types}):
        due = backlog["types"].get(job_type, {})
        rows.append(
            {
                "type": job_type,
                "state": _state(control["pauses"].get(job_type), is_deployed=job_type in control["types"]),
                "due": str(due.get("depth", 0)),
                "oldest": relative(due.get("oldest_due_at"), now, is_past=True),
                **{
                    status: _figure(each["types"][job_type]) if job_type in each["types"] else NOTHING
                    for status, each in statuses.items()
                },
            }
        )
    return rows


def _figure(document: dict[str, Any]) -> str:
    """
    >>> _figure({"value": 10000, "is_exact": False})
    '10,000+'
    """
    return f"{document['value']:,}{'' if document['is_exact'] else '+'}"


def _state(pause: dict[str, Any] | None, *, is_deployed: bool) -> str:
    if not is_deployed:
        return "not deployed"
    if pause is None:
        return "active"
    return "circuit open" if pause.get("circuit") else "paused"


def _by(switch: dict[str, Any], now: datetime) -> str:
    return f"{relative(switch['at'], now, is_past=True)} by {cell(switch['by'])}: {cell(switch['reason'])}"
