"""What is deployed and what is switched off, read through a short cache."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.kernel import partitions
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import code_of, from_text, to_text
from leasehold.kernel.partitions import awakened
from leasehold.kernel.refusals import NotDeployedError, SystemHaltedError, WebhooksOffError
from leasehold.kernel.registry import Switch, Switches, succeeding
from leasehold.kernel.registry_records import registry_of, registry_record, reservation_of
from leasehold.kernel.table import (
    JOBS,
    After,
    AnyOf,
    ConditionFailed,
    Delete,
    Equals,
    Exists,
    Missing,
    NotAfter,
    Put,
    TransactionCancelled,
    Update,
    request_token,
)
from leasehold.kernel.type_options import DELIVERY, type_scope
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.features import Store
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.ports import Clock
    from leasehold.kernel.registry import Registry, Reservation
    from leasehold.kernel.table import Condition, Record, Table
    from leasehold.kernel.type_options import Circuit
    from leasehold.templates.model import TemplateCache


# A halt takes effect within this time, everywhere.
CACHE_FOR = timedelta(seconds=5)


@dataclass(slots=True)
class _Read[Thing]:
    """What was last read. Without a time it is known, but to be read anew."""

    thing: Thing
    at: datetime | None


class Deployment:
    """While the table is away, what was last read stands: no work that is done waits for a switch to be read."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._registry: _Read[Registry] | None = None
        self._switches: _Read[Switches] | None = None
        self._circuits: dict[str, _Read[Circuit | None]] = {}
        # Opened with the first template that is asked for.
        self.templates: TemplateCache | None = None

    def registry(self, *, fresh: bool = False) -> Registry:
        self._registry = self._reading(self._registry, self._read_registry, fresh=fresh)
        return self._registry.thing

    def switches(self, *, fresh: bool = False) -> Switches:
        before = self._switches
        self._switches = self._reading(before, self._store.control.switches, fresh=fresh)
        if self._switches is not before:
            for circuit in self._circuits.values():
                circuit.at = None
        return self._switches.thing

    def circuit(self, job_type: str, *, fresh: bool = False) -> Circuit | None:
        """The circuit of a type if it is open. Only types with a breaker have one to be read."""
        if self.settings_of(job_type).breaker is None:
            return None
        before = self._circuits.get(job_type)
        read = self._reading(before, lambda: self._store.circuits.get(job_type), fresh=fresh)
        self._circuits[job_type] = read
        return read.thing

    def known_circuit(self, job_type: str) -> Circuit | None:
        """The circuit of a type as it was last read, however long ago; nothing is read for it."""
        known = self._circuits.get(job_type)
        return known.thing if known else None

    def refuse_if_halted(self) -> None:
        halt = self.switches().halt
        if halt is not None:
            raise SystemHaltedError(halt.by, to_text(halt.at), halt.reason)

    def refuse_if_webhooks_are_off(self, url: str) -> None:
        if DELIVERY not in self.registry().types:
            raise WebhooksOffError(url)

    def agrees(self, job_id: JobId, job_type: str) -> bool:
        """Whether a job with this id may be of this type; one that was deployed since the registry was read, too."""
        known = self.registry()
        if known.agrees(job_id, job_type):
            return True
        return not known.has_code(code_of(job_id)) and self.registry(fresh=True).agrees(job_id, job_type)

    def settings_of(self, job_type: str) -> JobType:
        """A type's settings; the defaults for one that is no longer deployed, whose jobs still need an end."""
        return self.registry().types.get(job_type) or JobType(name=job_type)

    def forget(self) -> None:
        """Read anew next time."""
        for known in (self._registry, self._switches, *self._circuits.values()):
            if known is not None:
                known.at = None

    def _read_registry(self) -> Registry:
        registry = self._store.control.registry()
        if registry is None:
            raise NotDeployedError(self._store.table.name)
        return registry

    def _reading[Thing](self, known: _Read[Thing] | None, read: Callable[[], Thing], *, fresh: bool) -> _Read[Thing]:
        now = self._clock.now()
        if known is not None and not fresh and known.at is not None and is_fresh(known.at, now):
            return known
        try:
            return _Read(read(), now)
        except StoreUnavailableError:
            # Who asks for what is true now gets no old answer.
            if known is None or fresh:
                raise
            return known


def is_fresh(read_at: datetime, now: datetime) -> bool:
    # A clock that was set back must not keep an old answer alive.
    return timedelta(0) <= now - read_at < CACHE_FOR


# `$` follows `#`: the range covers the halt, every reservation and every pause, and leaves the larger registry unread.
_FIRST, _LAST = partitions.HALT, "pause$"
_PAGE = 1000
_TYPES_AT_ONCE = 90
_TRIES = 5


class Control:
    def __init__(self, table: Table) -> None:
        self._table = table

    def switches(self) -> Switches:
        """The halt, all reservations and all pauses, in one consistent read."""
        halt: Switch | None = None
        pauses: dict[str, Switch] = {}
        reservations: dict[str, Reservation] = {}
        page = self._table.query(JOBS, partitions.CONTROL, first=_FIRST, last=_LAST, limit=_PAGE)
        for record in page.records:
            name = cast("str", record["SK"])
            if name == partitions.HALT:
                halt = _switch_of(record)
            elif name.startswith(partitions.NEXT_SLOT):
                reservations[name.removeprefix(partitions.NEXT_SLOT)] = reservation_of(record)
            else:
                pauses[name.removeprefix(partitions.PAUSE)] = _switch_of(record)
        return Switches(halt=halt, pauses=pauses, reservations=reservations)

    def registry(self) -> Registry | None:
        record = self._table.get(partitions.control(partitions.REGISTRY))
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
            Update(
                key=partitions.shard_lock(shard), conditions=(free,), sets={"holder": holder, "until": to_text(until)}
            )
        )

    def give_up_shard_lock(self, shard: int, holder: str) -> None:
        self._try(Delete(key=partitions.shard_lock(shard), conditions=(Equals("holder", holder),)))

    def acquire_waiter_lease(self, holder: str, now: datetime, until: datetime, *, from_anyone: bool) -> bool:
        """Become the one poller that waits for what falls due soon: where there is none, or in anyone's place."""
        # Its own holder means that an earlier try succeeded, and only its response was lost.
        vacant = AnyOf((Missing("holder"), Equals("holder", holder), NotAfter("until", to_text(now))))
        change = Update(
            key=partitions.waiter_lease(),
            conditions=() if from_anyone else (vacant,),
            sets={"holder": holder, "until": to_text(until)},
        )
        return self._try(change)

    def has_waiter_lease(self, holder: str) -> bool:
        return self.waiter_lease()[0] == holder

    def waiter_lease(self) -> tuple[str | None, datetime | None]:
        """Who waits, and when something falls due that it may not know of."""
        record = self._table.get(partitions.waiter_lease()) or {}
        due_at = cast("str | None", record.get("due_at"))
        return cast("str | None", record.get("holder")), None if due_at is None else from_text(due_at)

    def note_due(self, at: datetime) -> bool:
        """Let whoever waits know of something that falls due, unless it knows of something sooner."""
        later = AnyOf((Missing("due_at"), After("due_at", to_text(at))))
        conditions = (Exists("holder"), later)
        return self._try(Update(key=partitions.waiter_lease(), conditions=conditions, sets={"due_at": to_text(at)}))

    def forget_due(self, at: datetime) -> None:
        """What was noted is done; unless something sooner was noted meanwhile."""
        seen = (Equals("due_at", to_text(at)),)
        self._try(Update(key=partitions.waiter_lease(), conditions=seen, removes=frozenset({"due_at"})))

    def release_waiter_lease(self, holder: str) -> None:
        self._try(Delete(key=partitions.waiter_lease(), conditions=(Equals("holder", holder),)))

    def _try(self, change: Put | Update | Delete) -> bool:
        try:
            self._table.write(change)
        except ConditionFailed as failed:
            # What stands there may be our own, by a try whose response was lost.
            return isinstance(change, Put) and failed.current == change.item
        return True


def _registration(registry: Registry, as_seen: tuple[Condition, ...]) -> Put:
    return Put(key=partitions.control(partitions.REGISTRY), record=registry_record(registry), conditions=as_seen)


def _switch_of(record: Record) -> Switch:
    return Switch(
        by=cast("str", record["by"]), at=from_text(cast("str", record["at"])), reason=cast("str", record["reason"])
    )
