"""Access patterns of circuit breakers: how a type's runs end, and the pause that follows from it.

A count may be lost with the process that was to write it, or be made twice by a retry whose first try had arrived. That
moves a rate over many runs by one; the pause itself is written under conditions, like everything that jobs depend on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.domain.breaker import Tally
from leasehold.domain.conditions import After, Equals
from leasehold.domain.instants import from_text, to_text
from leasehold.domain.limits import type_scope
from leasehold.store import keys
from leasehold.store.holds import awakened
from leasehold.store.switch_records import circuit_record, switch_record
from leasehold.store.table import ConditionFailed, Delete, Put, TransactionCancelled, Update

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from leasehold.domain.breaker import Circuit
    from leasehold.domain.control import Switch
    from leasehold.domain.ids import JobId
    from leasehold.store.table import Record, Table

_TRIES = 3


class Breakers:
    def __init__(self, table: Table) -> None:
        self._table = table

    def count(self, job_type: str, now: datetime, window: timedelta, *, failed: bool) -> Tally | None:
        """Count one run into the window of now, by one write; None if others kept being faster to begin a window."""
        one_more = Update(
            key=keys.breaker(job_type),
            conditions=(After("since", to_text(now - window)),),
            adds={"runs": 1, "failures": int(failed)},
        )
        for _ in range(_TRIES):
            try:
                return _tally_of(self._table.write(one_more))
            except ConditionFailed as over:
                first = Tally(since=now, runs=1, failures=int(failed))
                if self._begin_window(job_type, first, over.current):
                    return first
        return None

    def _begin_window(self, job_type: str, first: Tally, over: Record | None) -> bool:
        record: Record = {"since": to_text(first.since), "runs": first.runs, "failures": first.failures}
        # None of two who find the window over may throw away what the other has counted since.
        is_as_seen = None if over is None else (Equals("since", over["since"]),)
        try:
            self._table.write(Put(key=keys.breaker(job_type), record=record, conditions=is_as_seen))
        except ConditionFailed:
            return False
        return True

    def open(self, job_type: str, switch: Switch, because: Tally, *, token: str) -> bool:
        """Pause the type, unless it is paused. The count goes with it: a second pause needs runs of its own."""
        pause = Put(key=keys.pause(job_type), record=switch_record(switch))
        spent = Delete(key=keys.breaker(job_type), conditions=(Equals("since", to_text(because.since)),))
        return self._transact(pause, spent, token=token)

    def close(self, job_type: str, probe: JobId, now: datetime, *, token: str) -> bool:
        """Lift the pause that this probe was to decide about, wake the held jobs, and count anew."""
        lift = Delete(key=keys.pause(job_type), conditions=(Equals("probe", probe),))
        return self._transact(lift, awakened(type_scope(job_type), now, token), forgotten(job_type), token=token)

    def put_off(self, job_type: str, probe: JobId, until: Circuit) -> bool:
        """The probe is over and the pause goes on; False if this is not the probe (any more)."""
        change = Update(
            key=keys.pause(job_type),
            conditions=(Equals("probe", probe),),
            sets=circuit_record(until),
            removes=frozenset({"probe"}),
        )
        try:
            self._table.write(change)
        except ConditionFailed as failed:
            # It may stand there already, by a try of ours whose response was lost.
            current = failed.current or {}
            return "probe" not in current and current.items() >= change.sets.items()
        return True

    def _transact(self, *changes: Put | Update | Delete, token: str) -> bool:
        try:
            self._table.transact(changes, token=token)
        except TransactionCancelled:
            return False
        return True


def probe_noted(job_type: str, seen: Circuit, probe: JobId, replaced_at: datetime) -> Update:
    """One job is let through, unless somebody else let one through since; if nothing is heard of it, so is the next."""
    return Update(
        key=keys.pause(job_type),
        conditions=(Equals("probe_at", to_text(seen.probe_at)),),
        sets={"probe": probe, "probe_at": to_text(replaced_at)},
    )


def forgotten(job_type: str) -> Delete:
    """What was counted, thrown away."""
    return Delete(key=keys.breaker(job_type), conditions=())


def _tally_of(record: Record) -> Tally:
    return Tally(
        since=from_text(cast("str", record["since"])),
        runs=cast("int", record["runs"]),
        failures=cast("int", record["failures"]),
    )
