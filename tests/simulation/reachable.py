"""Which faults at which calls can be met at all, by the state of the job that the call is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.faults import AT_INVOKES, AT_RECORDS, Fault, possible_at

if TYPE_CHECKING:
    from tests.simulation.coverage import Cell

_ANY = ("pending", "in_progress", "failed", "completed", "cancelled", "dead_letter")
# A call about several jobs counts for the first; `-` is a call that names no job, `absent` one whose job is not there.
_STATES = {
    "GetItem": ("-", *_ANY),
    "Query": ("-",),
    "BatchGetItem": ("pending", "in_progress", "completed"),
    "PutItem": ("-",),
    "DeleteItem": ("-",),
    "UpdateItem": ("-", "pending", "in_progress", "failed", "dead_letter"),
    "TransactWriteItems": ("-", "absent", "pending", "in_progress", "failed", "completed", "dead_letter"),
    "BatchExecuteStatement": ("-",),
    "ExecuteTransaction": ("-",),
}


def reachable_cells() -> list[Cell]:
    """Each of these must have been hit by a full run."""
    cells: list[Cell] = [
        (fault, operation, state)
        for operation, states in _STATES.items()
        for fault in possible_at(operation)
        for state in states
    ]
    cells += [(fault, "Invoke", "in_progress") for fault in AT_INVOKES]
    cells += [(fault, f"{kind} record", "-") for fault in AT_RECORDS for kind in ("wake", "letter")]
    return [*cells, (Fault.STALE_INDEX, "Query", "-")]
