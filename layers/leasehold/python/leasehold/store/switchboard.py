"""Access patterns of control: the halt, the pauses, the registry, and who polls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from leasehold.domain.conditions import After, AnyOf, Equals, Exists, Missing, NotAfter
from leasehold.domain.control import Switch, Switches, succeeding
from leasehold.domain.errors import StoreUnavailableError
from leasehold.domain.instants import from_text, to_text
from leasehold.domain.limits import type_scope
from leasehold.store import keys
from leasehold.store.circuits import closed
from leasehold.store.definition import JOBS
from leasehold.store.lines import awakened
from leasehold.store.registries import registry_of, registry_record
from leasehold.store.reservations import reservation_of
from leasehold.store.table import ConditionFailed, Delete, Put, TransactionCancelled, Update
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.conditions import Condition
    from leasehold.domain.control import Registry, Reservation
    from leasehold.store.table import Change, Record, Table

# `$` follows `#`: the range covers the halt, every reservation and every pause, and leaves the larger registry unread.
_FIRST, _LAST = keys.HALT, "pause$"
_PAGE = 1000
_TYPES_AT_ONCE = 90
_TRIES = 5


class Switchboard:
    def __init__(self, table: Table) -> None:
        self._table = table

    def switches(self) -> Switches:
        """The halt, all reservations and all pauses, in one consistent read."""
        halt: Switch | None = None
        pauses: dict[str, Switch] = {}
        reservations: dict[str, Reservation] = {}
        page = self._table.query(JOBS, keys.CONTROL, first=_FIRST, last=_LAST, limit=_PAGE)
        for record in page.records:
            name = cast("str", record["SK"])
            if name == keys.HALT:
                halt = _switch_of(record)
            elif name.startswith(keys.NEXT_SLOT):
                reservations[name.removeprefix(keys.NEXT_SLOT)] = reservation_of(record)
            else:
                pauses[name.removeprefix(keys.PAUSE)] = _switch_of(record)
        return Switches(halt=halt, pauses=pauses, reservations=reservations)

    def registry(self) -> Registry | None:
        record = self._table.get(keys.control(keys.REGISTRY))
        return registry_of(record) if record else None

    def publish(self, registry: Registry, now: datetime, *, token: str) -> None:
        """Say what is deployed, and wake the held jobs of types that were not deployed before.

        There are never fewer shards than there were, and no other codes: jobs where nobody looks would be lost.
        """
        for attempt in range(_TRIES):
            try:
                return self._publish(registry, now, f"{token}#{attempt}")
            except (ConditionFailed, TransactionCancelled):
                continue  # another deployment was faster, or our own try whose response was lost: look again
        raise StoreUnavailableError("the registry is changed by others all the time; deploy again")

    def _publish(self, registry: Registry, now: datetime, token: str) -> None:
        known = self.registry()
        as_seen: tuple[Condition, ...] = (Missing("PK"),)
        new: list[str] = []
        if known is not None:
            registry = succeeding(known, registry)
            as_seen = (Equals("shards", known.shards),)
            new = [name for name in registry.types if name not in known.types]
        for start in range(0, len(new), _TYPES_AT_ONCE):
            # Together with its types' wake-ups, or a crash in between would leave jobs held whose type is deployed;
            # in steps, because a transaction holds a hundred changes.
            announced = {*registry.types} - {*new[start + _TYPES_AT_ONCE :]}
            types = {name: job_type for name, job_type in registry.types.items() if name in announced}
            step = _registration(replace(registry, types=types), as_seen)
            wakes = [
                awakened(type_scope(name), now, token, registry.shards) for name in new[start : start + _TYPES_AT_ONCE]
            ]
            self._table.transact([step, *wakes], token=request_token(token, str(start)))
            as_seen = (Equals("shards", registry.shards),)
        if not new:
            self._table.write(_registration(registry, as_seen))

    def take_shard_lock(self, shard: int, holder: str, now: datetime, until: datetime) -> bool:
        """Become the one poller that works off a backlog. Advisory: claims are safe without it."""
        free = AnyOf((Missing("holder"), Equals("holder", holder), NotAfter("until", to_text(now))))
        return self._try(
            Update(key=keys.shard_lock(shard), conditions=(free,), sets={"holder": holder, "until": to_text(until)})
        )

    def give_up_shard_lock(self, shard: int, holder: str) -> None:
        self._try(Delete(key=keys.shard_lock(shard), conditions=(Equals("holder", holder),)))

    def acquire_waiter_lease(self, holder: str, now: datetime, until: datetime, *, from_anyone: bool) -> bool:
        """Become the one poller that waits for what falls due soon: where there is none, or in anyone's place."""
        # Its own holder means that an earlier try succeeded, and only its response was lost.
        vacant = AnyOf((Missing("holder"), Equals("holder", holder), NotAfter("until", to_text(now))))
        change = Update(
            key=keys.waiter_lease(),
            conditions=() if from_anyone else (vacant,),
            sets={"holder": holder, "until": to_text(until)},
        )
        return self._try(change)

    def has_waiter_lease(self, holder: str) -> bool:
        return self.waiter_lease()[0] == holder

    def waiter_lease(self) -> tuple[str | None, datetime | None]:
        """Who waits, and when something falls due that it may not know of."""
        record = self._table.get(keys.waiter_lease()) or {}
        due_at = cast("str | None", record.get("due_at"))
        return cast("str | None", record.get("holder")), None if due_at is None else from_text(due_at)

    def note_due(self, at: datetime) -> bool:
        """Let whoever waits know of something that falls due, unless it knows of something sooner."""
        later = AnyOf((Missing("due_at"), After("due_at", to_text(at))))
        conditions = (Exists("holder"), later)
        return self._try(Update(key=keys.waiter_lease(), conditions=conditions, sets={"due_at": to_text(at)}))

    def release_waiter_lease(self, holder: str) -> None:
        self._try(Delete(key=keys.waiter_lease(), conditions=(Equals("holder", holder),)))

    def _try(self, change: Put | Update | Delete) -> bool:
        try:
            self._table.write(change)
        except ConditionFailed as failed:
            # What stands there may be our own, by a try whose response was lost.
            return isinstance(change, Put) and failed.current == change.item
        return True


def _registration(registry: Registry, as_seen: tuple[Condition, ...]) -> Put:
    return Put(key=keys.control(keys.REGISTRY), record=registry_record(registry), conditions=as_seen)


def halted(switch: Switch) -> Put:
    """Stop everything, unless it is stopped already."""
    return Put(key=keys.control(keys.HALT), record=_switch_record(switch))


def resumed(seen: Switch, lifted: Switch) -> list[Change]:
    """Lift the halt that was seen, and have the stream start a poller for all that fell due meanwhile."""
    lift = Delete(key=keys.control(keys.HALT), conditions=(Equals("at", to_text(seen.at)),))
    return [lift, Put(key=keys.control(keys.RESUMED), record={**_switch_record(lifted), "wake": True}, conditions=())]


def paused(job_type: str, switch: Switch) -> Put:
    return Put(key=keys.pause(job_type), record=_switch_record(switch))


def unpaused(job_type: str, now: datetime, *, stamp: str, shards: int, close_circuit: bool) -> list[Change]:
    """Lift a pause and wake the type's held jobs, or one could wait for ever."""
    lift = Delete(key=keys.pause(job_type), conditions=(Exists("PK"),))
    also: list[Change] = [closed(job_type)] if close_circuit else []
    return [lift, awakened(type_scope(job_type), now, stamp, shards), *also]


def _switch_record(switch: Switch) -> Record:
    return {"by": switch.by, "at": to_text(switch.at), "reason": switch.reason}


def _switch_of(record: Record) -> Switch:
    return Switch(
        by=cast("str", record["by"]), at=from_text(cast("str", record["at"])), reason=cast("str", record["reason"])
    )
