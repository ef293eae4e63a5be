"""What pollers agree on: whose a shard's backlog is, and who waits for what falls due soon."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.kernel import partitions
from leasehold.kernel.keys import from_text, to_text
from leasehold.kernel.table import (
    JOBS,
    After,
    AnyOf,
    Delete,
    Equals,
    Exists,
    Key,
    Missing,
    NotAfter,
    Update,
)

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.table import Condition, Table


class Pollers:
    def __init__(self, table: Table) -> None:
        self._table = table

    def take_shard_lock(self, shard: int, holder: str, now: datetime, until: datetime) -> bool:
        """Become the one poller that works off a backlog. Advisory: claims are safe without it."""
        return self._take(shard_lock_key(shard), holder, until, _vacant(holder, now))

    def give_up_shard_lock(self, shard: int, holder: str) -> None:
        self._try(Delete(key=shard_lock_key(shard), conditions=(Equals("holder", holder),)))

    def acquire_waiter_lease(self, holder: str, now: datetime, until: datetime, *, from_anyone: bool) -> bool:
        """Become the one poller that waits for what falls due soon: where there is none, or in anyone's place."""
        return self._take(waiter_lease_key(), holder, until, *([] if from_anyone else [_vacant(holder, now)]))

    def waiter_lease(self) -> tuple[str | None, datetime | None]:
        """Who waits, and when something falls due that it may not know of."""
        record = self._table.get(waiter_lease_key()) or {}
        due_at = cast("str | None", record.get("due_at"))
        return cast("str | None", record.get("holder")), None if due_at is None else from_text(due_at)

    def note_due(self, at: datetime) -> bool:
        """Let whoever waits know of something that falls due, unless it knows of something sooner."""
        later = AnyOf((Missing("due_at"), After("due_at", to_text(at))))
        conditions = (Exists("holder"), later)
        return self._try(Update(key=waiter_lease_key(), conditions=conditions, sets={"due_at": to_text(at)}))

    def forget_due(self, at: datetime) -> None:
        """What was noted is done; unless something sooner was noted meanwhile."""
        seen = (Equals("due_at", to_text(at)),)
        self._try(Update(key=waiter_lease_key(), conditions=seen, removes=frozenset({"due_at"})))

    def release_waiter_lease(self, holder: str) -> None:
        self._try(Delete(key=waiter_lease_key(), conditions=(Equals("holder", holder),)))

    def _take(self, key: Key, holder: str, until: datetime, *conditions: Condition) -> bool:
        return self._try(Update(key=key, conditions=conditions, sets={"holder": holder, "until": to_text(until)}))

    def _try(self, change: Update | Delete) -> bool:
        return partitions.refusal(self._table, change) is None


def _vacant(holder: str, now: datetime) -> AnyOf:
    """Its own holder means that an earlier try succeeded, and only its response was lost."""
    return AnyOf((Missing("holder"), Equals("holder", holder), NotAfter("until", to_text(now))))


def shard_lock_key(shard: int) -> Key:
    return Key(JOBS, (partitions.WATCH, str(shard)))


def waiter_lease_key() -> Key:
    return Key(JOBS, (partitions.WATCH, "waiting"))
