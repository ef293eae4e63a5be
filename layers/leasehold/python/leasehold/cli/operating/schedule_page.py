"""A schedule, as people read it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.admin.documents import schedule_view_document
from leasehold.cli.terminal.cells import length
from leasehold.cli.terminal.details import show_fields, show_json

if TYPE_CHECKING:
    from leasehold.cli.session import Session

_LENGTHS = ("every", "missed_window")


def show_schedule(session: Session, name: str, *, next_runs: int = 5) -> None:
    """As it is now, with its coming runs."""
    document = schedule_view_document(session.admin.read.schedule(name, next_runs=next_runs))
    if session.out.as_json:
        session.out.document(document)
        return
    lengths = {
        name: length(timedelta(seconds=each)) for name in _LENGTHS if isinstance(each := document.get(name), float)
    }
    show_fields(document | lengths, session.out.console, without=("payload",))
    show_json("payload", document["payload"], session.out.console)
