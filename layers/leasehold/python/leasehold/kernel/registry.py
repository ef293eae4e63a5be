"""What is deployed and what operators have switched off, read through a short cache."""

from __future__ import annotations

from dataclasses import field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from leasehold import features
from leasehold.kernel import keys, partitions
from leasehold.kernel.errors import NotDeployedError, StoreUnavailableError, SystemHaltedError, UnknownJobTypeError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import NOT_ISOLATED, SYSTEM_CODE, from_text, partition_of, to_text, type_code
from leasehold.kernel.records import texts_in
from leasehold.kernel.table import JOBS
from leasehold.kernel.type_options import DELIVERY, check_registry
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from leasehold.circuit_breaker.model import Circuit
    from leasehold.direct_runs.model import Reservation
    from leasehold.features import Store
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.ports import Clock
    from leasehold.kernel.table import Record, Table
    from leasehold.templates.model import TemplateCache

# A halt takes effect within this time, everywhere.
CACHE_FOR = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """Something is stopped: who did it, when and why. With a `circuit`, its circuit breaker did, and tries again."""

    by: str
    at: datetime
    reason: str
    circuit: Circuit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    halt: Switch | None = None
    pauses: Mapping[str, Switch] = field(default_factory=dict)
    reservations: Mapping[str, Reservation] = field(default_factory=dict)

    def stop(self, job_type: str) -> bool:
        """Whether somebody stopped this type, or everything."""
        return self.halt is not None or job_type in self.pauses

    def reserved_until(self, job_type: str, now: datetime) -> datetime | None:
        """Until when a type is reserved; None if it is not, or if who reserved it is gone and its time is over."""
        reservation = self.reservations.get(job_type)
        return reservation.until if reservation is not None and reservation.until > now else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """What is deployed. The SDK refuses types and shards that are not in here: nobody would run such a job.

    isolate_types: whether a job's partition names its type, so that rights can be given by type.
    retired: codes of types that were deployed once: their jobs stay readable, and nobody else gets their partitions.
    """

    types: Mapping[str, JobType]
    shards: int = 1
    isolate_types: bool = True
    retired: Mapping[str, int] = field(default_factory=dict)
    ended_index: bool = True
    # How many jobs may run at once, of all types together; None is no limit.
    concurrency: int | None = None
    # How many jobs may use each shared resource at once.
    resources: Mapping[str, int] = field(default_factory=dict)
    # The bucket where the daily roots of the audit are kept; None where nobody keeps them.
    audit_roots: str | None = None
    # Whether what people do by hand needs a reason.
    require_reasons: bool = False

    def __post_init__(self) -> None:
        check_registry(self)

    def code_of(self, job_type: str) -> int:
        """What the ids of a type's jobs carry, also of one that is not deployed any more."""
        if job_type == DELIVERY:
            return SYSTEM_CODE
        if not self.isolate_types:
            return NOT_ISOLATED
        known = self.types.get(job_type)
        return known.code if known is not None else self.retired.get(job_type) or type_code(job_type)

    def agrees(self, job_id: JobId, job_type: str) -> bool:
        """Whether a job of this type may have this id. Who writes an item can call it by any type, but not move it."""
        return partition_of(job_id).code == self.code_of(job_type)

    def job_type(self, name: str) -> JobType:
        if name not in self.types:
            raise UnknownJobTypeError(name, [each for each in self.types if each != DELIVERY])
        return self.types[name]


class Cached[Thing]:
    """What is read for a while. While the table is away, what was last read stands: no work that is done waits."""

    def __init__(self, read: Callable[[], Thing], clock: Clock) -> None:
        self._read = read
        self._clock = clock
        # As it was last read, however long ago; None if it never was.
        self.last: Thing | None = None
        self._read_at: datetime | None = None

    def get(self, *, fresh: bool = False) -> Thing:
        now = self._clock.now()
        if fresh or self._read_at is None or not is_fresh(self._read_at, now):
            try:
                self.last, self._read_at = self._read(), now
            except StoreUnavailableError:
                # Who asks for what is true now gets no old answer.
                if fresh or self._read_at is None:
                    raise
        return cast("Thing", self.last)

    def forget(self) -> None:
        """Read it anew next time: what was read at no time that has come is not fresh."""
        self._read_at = self._read_at and keys.LATEST


class Deployment:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._registry = Cached(self._read_registry, clock)
        self._switches = Cached(store.control.switches, clock)
        # Of types whose circuit breaker was asked: see circuit_breaker/circuits.py.
        self.circuits: dict[str, Cached[Circuit | None]] = {}
        # Opened with the first template that is asked for.
        self.templates: TemplateCache | None = None

    def registry(self, *, fresh: bool = False) -> Registry:
        return self._registry.get(fresh=fresh)

    def switches(self, *, fresh: bool = False) -> Switches:
        before = self._switches.last
        switches = self._switches.get(fresh=fresh)
        if switches is not before:
            for circuit in self.circuits.values():
                circuit.forget()
        return switches

    def refuse_if_halted(self) -> None:
        if (halt := self.switches().halt) is not None:
            raise SystemHaltedError(halt.by, to_text(halt.at), halt.reason)

    def settings_of(self, job_type: str) -> JobType:
        """A type's settings; the defaults for one that is no longer deployed, whose jobs still need an end."""
        return self.registry().types.get(job_type) or JobType(name=job_type)

    def forget(self) -> None:
        """Read anew next time."""
        known: list[Cached[Any]] = [self._registry, self._switches, *self.circuits.values()]
        for each in known:
            each.forget()

    def _read_registry(self) -> Registry:
        registry = self._store.control.registry()
        if registry is None:
            raise NotDeployedError(self._store.table.name)
        return registry


def is_fresh(read_at: datetime, now: datetime) -> bool:
    # A clock that was set back must not keep an old answer alive.
    return timedelta(0) <= now - read_at < CACHE_FOR


class Control:
    def __init__(self, table: Table) -> None:
        self._table = table

    def switches(self) -> Switches:
        """The halt, all reservations and all pauses, in one consistent read."""
        halt: Switch | None = None
        pauses: dict[str, Switch] = {}
        reservations: dict[str, Reservation] = {}
        # `$` follows `#`: all of them are in this range, and the registry, which is larger, is not.
        page = self._table.query(JOBS, partitions.CONTROL, first=partitions.HALT, last="pause$", limit=1000)
        for record in page.records:
            name = cast("str", record["SK"])
            if name == partitions.HALT:
                halt = _switch_of(record)
            elif name.startswith(partitions.NEXT_SLOT):
                reservations[name.removeprefix(partitions.NEXT_SLOT)] = features.reservation_of(record)
            else:
                pauses[name.removeprefix(partitions.PAUSE)] = _switch_of(record)
        return Switches(halt=halt, pauses=pauses, reservations=reservations)

    def registry(self) -> Registry | None:
        record = self._table.get(partitions.control(partitions.REGISTRY))
        if record is None:
            return None
        from leasehold.kernel.registry_records import registry_of

        return registry_of(record)


def _switch_of(record: Record) -> Switch:
    by, at, reason = texts_in(record, ("by", "at", "reason"))
    return Switch(by=by, at=from_text(at), reason=reason)
