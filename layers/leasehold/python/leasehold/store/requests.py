"""Access patterns of idempotency keys: what a request with one has made, and what its caller was told."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.domain.conditions import AnyOf, Equals, Missing, NotAfter
from leasehold.domain.instants import from_text, to_text
from leasehold.domain.lean import dataclass
from leasehold.store import keys
from leasehold.store.table import ConditionFailed, Put, Update

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.store.table import Record, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """fingerprint: of what was asked for. made_id: of what it makes or has made. answer: once there is one."""

    name: str
    fingerprint: str
    made_id: str
    until: datetime
    answer: str | None = None


class Requests:
    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, name: str, now: datetime) -> RequestRecord | None:
        record = self._table.get(keys.request(name))
        found = _record_of(name, record) if record else None
        return found if found and found.until > now else None

    def take(self, wanted: RequestRecord, now: datetime) -> RequestRecord:
        """Write it where there is none, or one whose time is over; else the one that stands there."""
        key = keys.request(wanted.name)
        vacant = AnyOf((Missing("PK"), NotAfter("until", to_text(now))))
        try:
            self._table.write(Put(key=key, record=_record(wanted), conditions=(vacant,)))
        except ConditionFailed as failed:
            # It may be ours, by a try whose response was lost: then it says the same.
            return _record_of(wanted.name, failed.current or {})
        return wanted

    def answer(self, made: RequestRecord, answer: str) -> None:
        """Keep what the caller is told; somebody who asked the same at the same time may have been quicker."""
        guards = (Equals("made_id", made.made_id), Missing("answer"))
        try:
            self._table.write(Update(key=keys.request(made.name), conditions=guards, sets={"answer": answer}))
        except ConditionFailed:
            return


def _record(request: RequestRecord) -> Record:
    return {
        "fingerprint": request.fingerprint,
        "made_id": request.made_id,
        "until": to_text(request.until),
        "expires_at": int(request.until.timestamp()),
    }


def _record_of(name: str, record: Record) -> RequestRecord:
    return RequestRecord(
        name=name,
        fingerprint=cast("str", record["fingerprint"]),
        made_id=cast("str", record["made_id"]),
        until=from_text(cast("str", record["until"])),
        answer=cast("str | None", record.get("answer")),
    )
