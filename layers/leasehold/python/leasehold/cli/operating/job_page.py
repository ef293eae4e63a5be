"""A job, or the dead letter that it left, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.cli.operating.columns import RUNS, TIMELINE
from leasehold.cli.terminal.cells import priority_name
from leasehold.cli.terminal.details import show_fields, show_heading, show_json, show_lines
from leasehold.cli.terminal.tables import show_table

if TYPE_CHECKING:
    from rich.console import Console

    from leasehold.admin.job_documents import Document

_BELOW = ("payload", "result", "traceback", "runs", "timeline", "dead_letter", "priority", "job_id")


def show_job(document: Document, console: Console) -> None:
    head = {"job_id": document["job_id"], "priority": priority_name(document["priority"])}
    dead_letter = cast("Document", document.get("dead_letter") or {})
    if dead_letter:
        head["dead letter"] = "open" if dead_letter["is_open"] else dead_letter.get("resolution")
        head |= {name: dead_letter[name] for name in ("resolved_by", "resolved_reason") if name in dead_letter}
    rest = {name: value for name, value in document.items() if name not in _BELOW}
    show_fields({"job_id": head.pop("job_id"), **rest, **head}, console)
    _show_content(document, console)
    _show_records("timeline", document, console)


def show_dead_letter(document: Document, console: Console) -> None:
    show_fields(document, console, without=("payload", "traceback", "runs"))
    _show_content(document, console)


def _show_content(document: Document, console: Console) -> None:
    for name in ("payload", "result"):
        if name in document:
            show_json(name, document[name], console)
    if document.get("traceback"):
        show_lines("traceback", str(document["traceback"]), console)
    _show_records("runs", document, console)


def _show_records(name: str, document: Document, console: Console) -> None:
    records = cast("list[Document]", document.get(name) or [])
    if records:
        show_heading(name, console)
        show_table(RUNS if name == "runs" else TIMELINE, records, console)
