"""Access patterns of circuits: one record per type, which counts how its runs end, or says that its circuit is open.

A count may be lost with the process that was to write it, or be made twice by a retry whose first try had arrived. That
moves a rate over many runs by one. What opens and closes the circuit is written under conditions, like everything else.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold import features
from leasehold.circuit_breaker.model import Circuit, Tally
from leasehold.kernel.keys import to_text
from leasehold.kernel.partitions import refusal
from leasehold.kernel.records import Codec, Kind
from leasehold.kernel.registry import Cached
from leasehold.kernel.table import (
    JOBS,
    After,
    ConditionFailed,
    Delete,
    Equals,
    Exists,
    Key,
    Put,
    TransactionCancelled,
    Update,
)
from leasehold.kernel.type_options import type_scope

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change, Condition, Record, Table

_TRIES = 3
_COUNTED = frozenset({"since", "runs", "failures"})
_SECONDS = Kind(int, lambda seconds: timedelta(seconds=seconds), lambda length: int(length.total_seconds()))
CIRCUIT_RECORD = Codec(Circuit, {"timedelta": _SECONDS})
_TALLY = Codec(Tally, {})


class Circuits:
    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, job_type: str) -> Circuit | None:
        """The circuit of a type if it is open."""
        record = self._table.get(circuit_key(job_type))
        return circuit_of(record) if record else None

    def count(self, job_type: str, now: datetime, window: timedelta, *, failed: bool) -> Tally | Circuit | None:
        """Count one run into the window of now; the circuit if it is open: then nothing is counted."""
        one_more = Update(
            key=circuit_key(job_type),
            conditions=(After("since", to_text(now - window)),),
            adds={"runs": 1, "failures": int(failed)},
        )
        for _ in range(_TRIES):
            try:
                return Tally(**_TALLY.values(self._table.write(one_more)))
            except ConditionFailed as over:
                circuit = None if over.current is None else circuit_of(over.current)
                if circuit is not None:
                    return circuit
                first = Tally(since=now, runs=1, failures=int(failed))
                if self._begin_window(job_type, first, over.current):
                    return first
        return None

    def _begin_window(self, job_type: str, first: Tally, over: Record | None) -> bool:
        # Of two who find the window over, none may throw away what the other has counted since.
        is_as_seen = None if over is None else (Equals("since", over["since"]),)
        begun = Put(key=circuit_key(job_type), record=_TALLY.record(first), conditions=is_as_seen)
        return refusal(self._table, begun) is None

    def open(self, job_type: str, circuit: Circuit, because: Tally) -> bool:
        """Open the circuit, unless it was opened since these runs were counted. What was counted is spent."""
        as_counted = Equals("since", to_text(because.since))
        return self._change(job_type, as_counted, CIRCUIT_RECORD.record(circuit), removes=_COUNTED)

    def put_off(self, job_type: str, probe: JobId, at: datetime, wait: timedelta) -> bool:
        """The probe is over and the circuit stays open; False if this is not the probe (any more)."""
        sets: Record = {"probe_at": to_text(at), "wait": int(wait.total_seconds())}
        return self._change(job_type, Equals("probe", probe), sets, removes=frozenset({"probe"}))

    def close(self, job_type: str, now: datetime, *, token: str, shards: int, probe: JobId) -> bool:
        """Close it and wake the held jobs, in one transaction; only if this still is the probe."""
        try:
            self._table.transact(closing(job_type, now, stamp=token, shards=shards, probe=probe), token=token)
        except TransactionCancelled:
            return False
        return True

    def _change(self, job_type: str, condition: Condition, sets: Record, *, removes: frozenset[str]) -> bool:
        change = Update(key=circuit_key(job_type), conditions=(condition,), sets=sets, removes=removes)
        current = refusal(self._table, change)
        # It may stand there already, by a try of ours whose response was lost.
        return current is None or (sets.items() <= current.items() and not removes & current.keys())


def circuit_of_type(job_type: str, services: Services, *, fresh: bool = False) -> Circuit | None:
    """The circuit of a type if it is open, through a cache. Only types with a breaker have one to be read."""
    deployment = services.deployment
    if deployment.settings_of(job_type).breaker is None:
        return None
    read = Cached(partial(services.store.circuits.get, job_type), services.clock)
    return deployment.circuits.setdefault(job_type, read).get(fresh=fresh)


def known_circuit(job_type: str, services: Services) -> Circuit | None:
    """The circuit of a type as it was last read, however long ago; nothing is read for it."""
    known = services.deployment.circuits.get(job_type)
    return known.last if known else None


def closing(job_type: str, now: datetime, *, stamp: str, shards: int, probe: JobId | None = None) -> list[Change]:
    """Close an open circuit and wake the held jobs; with a `probe`, only if that still is the probe."""
    is_open = Exists("probe_at") if probe is None else Equals("probe", probe)
    lift = Delete(key=circuit_key(job_type), conditions=(is_open,))
    return [lift, features.awakened(type_scope(job_type), now, stamp, shards)]


def closed(job_type: str) -> Delete:
    """Whatever it was: closed, and counted anew."""
    return Delete(key=circuit_key(job_type), conditions=())


def circuit_of(record: Record) -> Circuit | None:
    """None while it is closed, and the record only counts."""
    return Circuit(**CIRCUIT_RECORD.values(record)) if "probe_at" in record else None


def circuit_key(job_type: str) -> Key:
    """Apart from the switches, and each type apart from the others: rights can be given by partition only."""
    return Key(JOBS, (f"circuit#{job_type}", "-"))
