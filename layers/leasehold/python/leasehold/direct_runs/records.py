"""Access patterns of direct runs that somebody asked for: accept, take, end. Each is written by whom it belongs to."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.direct_runs.model import DirectRequest, DirectState, Reservation
from leasehold.kernel.jobs import DueJob, due_entry
from leasehold.kernel.keys import due_until, to_text
from leasehold.kernel.partitions import NEXT_SLOT, control, pages, refusal
from leasehold.kernel.records import Codec, Kind
from leasehold.kernel.table import (
    DUE_INDEX,
    JOBS,
    AnyOf,
    ConditionFailed,
    Delete,
    Equals,
    Key,
    Missing,
    NotAfter,
    Put,
    TransactionCancelled,
    Update,
    request_token,
)
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.type_options import type_scope
from leasehold.limits.scopes import awakened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leasehold.kernel.table import Record, Table

_PAGE = 500
_TIDIED_AFTER = timedelta(days=1)


DIRECT_RUN = "direct-run"


class DirectRequests:
    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, run_id: str) -> DirectRequest | None:
        record = self._table.get(direct_request_key(run_id))
        return DirectRequest(run_id=run_id, **_CODEC.values(record)) if record else None

    def take(self, request: DirectRequest) -> bool:
        """Begin it, unless another invocation has: asynchronous events may come twice."""
        return self._write(request, {"state", "taken_by", "until"}, Equals("state", str(DirectState.ACCEPTED)))

    def end(self, request: DirectRequest) -> bool:
        """Say how it went; False where that is said already, or is not this invocation's to say."""
        said = {"state", "started_at", "ended_at", "result", "error", "error_code"}
        mine = Equals("state", str(DirectState.RUNNING)), Equals("taken_by", request.taken_by)
        return self._write(request, said, *mine, removes=frozenset({"payload"}))

    def _write(
        self, request: DirectRequest, names: set[str], *conditions: Equals, removes: frozenset[str] = frozenset()
    ) -> bool:
        sets = {name: value for name, value in _CODEC.record(request).items() if name in names}
        key = direct_request_key(request.run_id)
        current = refusal(self._table, Update(key=key, conditions=conditions, sets=sets, removes=removes))
        # An earlier try of this very write may have succeeded, and its response was lost.
        written = (request.taken_by, str(request.state))
        return current is None or (current.get("taken_by"), current.get("state")) == written


_MILLISECOND = timedelta(milliseconds=1)
_MILLIS = Kind(int, lambda millis: millis * _MILLISECOND, lambda length: length // _MILLISECOND)
_CODEC = Codec(
    DirectRequest,
    {"timedelta": _MILLIS, "DirectState": Kind(str, DirectState)},
    stored_as={"timeout": "timeout_millis", "payload_text": "payload", "result_text": "result"},
    without={"run_id"},
    always={"state"},
)


def acceptance(request: DirectRequest) -> Put:
    """To be written with the record of who wanted it, where there is none, or one that is forgotten already."""
    record: Record = {
        "payload": "",
        **_CODEC.record(request),
        "kept_until": to_text(request.expires_at),
        "expires_at": int(request.expires_at.timestamp()),
    }
    forgotten = NotAfter("kept_until", to_text(request.asked_at))
    vacant = AnyOf((Missing("PK"), forgotten))
    return Put(key=direct_request_key(request.run_id), record=record, conditions=(vacant,))


class Reservations:
    def __init__(self, table: Table) -> None:
        self._table = table

    def make(self, job_type: str, wanted: Reservation, now: datetime) -> Reservation | None:
        """Reserve where nobody has, or whose time is over; else the reservation that stands in the way."""
        vacant = AnyOf((Missing("PK"), NotAfter("until", to_text(now))))
        # Every poll reads it: one whose caller died shall not stay for ever.
        forgotten_at = int((wanted.until + _TIDIED_AFTER).timestamp())
        record: Record = {**_RESERVATION.record(wanted), "expires_at": forgotten_at}
        current = refusal(self._table, Put(key=reservation_key(job_type), record=record, conditions=(vacant,)))
        # It may be ours, by a try whose response was lost.
        return None if current is None or current.get("run_id") == wanted.run_id else reservation_of(current)

    def lift(self, job_type: str, run_id: str, now: datetime, *, is_waited_for: bool, shards: int) -> None:
        """Give up one's reservation; jobs that wait for it are woken in the same transaction, or they would wait on.

        One that is gone was given up by a try whose response was lost, or its time was over.
        """
        gone = Delete(key=reservation_key(job_type), conditions=(Equals("run_id", run_id),))
        try:
            if is_waited_for:
                token = request_token("lift", run_id)
                self._table.transact([gone, awakened(type_scope(job_type), now, token, shards)], token=token)
            else:
                self._table.write(gone)
        except (ConditionFailed, TransactionCancelled):
            return

    def leases(self, job_type: str, lane: str, earliest: datetime, latest: datetime) -> Iterator[DueJob]:
        """Jobs of a type that are in progress in a lane, by the end of their lease, which lies within these times.

        They stand in the due index among what falls due then: how much that is, is what this costs.
        """
        first, last = to_text(earliest), due_until(latest)
        for page in pages(partial(self._table.query, JOBS, lane, index=DUE_INDEX, first=first, last=last, limit=_PAGE)):
            for entry in map(due_entry, page.records):
                if isinstance(entry, DueJob) and entry.job_type == job_type and entry.status is JobStatus.IN_PROGRESS:
                    yield entry


_RESERVATION = Codec(Reservation, {})


def reservation_of(record: Record) -> Reservation:
    return Reservation(**_RESERVATION.values(record))


def direct_request_key(run_id: str) -> Key:
    return Key(JOBS, (f"{DIRECT_RUN}#{run_id}", "-"))


def reservation_key(job_type: str) -> Key:
    return control(NEXT_SLOT + job_type)
