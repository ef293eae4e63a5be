"""Access patterns of reservations: who has a job type's next slot.

A reservation is a record of control, between the halt and the pauses, so that one read shows all three.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.domain.conditions import AnyOf, Equals, Missing, NotAfter
from leasehold.domain.control import Reservation
from leasehold.domain.instants import from_text, to_text
from leasehold.domain.limits import type_scope
from leasehold.store import keys
from leasehold.store.lines import awakened
from leasehold.store.table import ConditionFailed, Delete, Put, TransactionCancelled
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.store.table import Record, Table

_TIDIED_AFTER = timedelta(days=1)


class Reservations:
    def __init__(self, table: Table) -> None:
        self._table = table

    def make(self, job_type: str, wanted: Reservation, now: datetime) -> Reservation | None:
        """Reserve where nobody has, or whose time is over; else the reservation that stands in the way."""
        vacant = AnyOf((Missing("PK"), NotAfter("until", to_text(now))))
        try:
            self._table.write(
                Put(key=keys.reservation(job_type), record=_reservation_record(wanted), conditions=(vacant,))
            )
        except ConditionFailed as failed:
            standing = reservation_of(failed.current or {})
            # It may be ours, by a try whose response was lost.
            return None if standing.run_id == wanted.run_id else standing
        return None

    def lift(self, job_type: str, run_id: str, now: datetime, *, is_waited_for: bool, shards: int) -> None:
        """Give up one's reservation; jobs that wait for it are woken in the same transaction, or they would wait on.

        One that is gone was given up by a try whose response was lost, or its time was over.
        """
        gone = Delete(key=keys.reservation(job_type), conditions=(Equals("run_id", run_id),))
        try:
            if is_waited_for:
                token = request_token("lift", run_id)
                self._table.transact([gone, awakened(type_scope(job_type), now, token, shards)], token=token)
            else:
                self._table.write(gone)
        except (ConditionFailed, TransactionCancelled):
            return


def _reservation_record(reservation: Reservation) -> Record:
    return {
        "run_id": reservation.run_id,
        "since": to_text(reservation.since),
        "until": to_text(reservation.until),
        # Every poll reads it: one whose caller died shall not stay for ever.
        "expires_at": int((reservation.until + _TIDIED_AFTER).timestamp()),
    }


def reservation_of(record: Record) -> Reservation:
    return Reservation(
        run_id=cast("str", record["run_id"]),
        since=from_text(cast("str", record["since"])),
        until=from_text(cast("str", record["until"])),
    )
