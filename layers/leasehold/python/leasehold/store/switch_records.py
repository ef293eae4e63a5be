"""A halt or a pause as a record."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.domain.breaker import Circuit
from leasehold.domain.control import Switch
from leasehold.domain.instants import from_text, to_text

if TYPE_CHECKING:
    from leasehold.domain.ids import JobId
    from leasehold.store.table import Record


def switch_record(switch: Switch) -> Record:
    record: Record = {"by": switch.by, "at": to_text(switch.at), "reason": switch.reason}
    return record if switch.circuit is None else {**record, **circuit_record(switch.circuit)}


def switch_of(record: Record) -> Switch:
    return Switch(
        by=cast("str", record["by"]),
        at=from_text(cast("str", record["at"])),
        reason=cast("str", record["reason"]),
        circuit=_circuit_of(record),
    )


def circuit_record(circuit: Circuit) -> Record:
    record: Record = {"probe_at": to_text(circuit.probe_at), "wait": int(circuit.wait.total_seconds())}
    return record if circuit.probe is None else {**record, "probe": circuit.probe}


def _circuit_of(record: Record) -> Circuit | None:
    if "probe_at" not in record:
        return None
    return Circuit(
        probe_at=from_text(cast("str", record["probe_at"])),
        wait=timedelta(seconds=cast("int", record["wait"])),
        probe=cast("JobId | None", record.get("probe")),
    )
