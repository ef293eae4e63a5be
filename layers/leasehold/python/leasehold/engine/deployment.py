"""What is deployed and what is switched off, read through a short cache."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.errors import NotDeployedError, StoreUnavailableError, SystemHaltedError, WebhooksOffError
from leasehold.domain.ids import code_of
from leasehold.domain.instants import to_text
from leasehold.domain.job_type import JobType
from leasehold.domain.lean import dataclass
from leasehold.domain.webhook import DELIVERY

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.domain.breaker import Circuit
    from leasehold.domain.control import Registry, Switches
    from leasehold.domain.ids import JobId
    from leasehold.engine.ports import Clock
    from leasehold.store.store import Store

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

    def registry(self, *, fresh: bool = False) -> Registry:
        self._registry = self._reading(self._registry, self._read_registry, fresh=fresh)
        return self._registry.thing

    def switches(self, *, fresh: bool = False) -> Switches:
        before = self._switches
        self._switches = self._reading(before, self._store.switchboard.switches, fresh=fresh)
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
        if known.agrees(job_id, job_type) or known.has_code(code_of(job_id)):
            return known.agrees(job_id, job_type)
        return self.registry(fresh=True).agrees(job_id, job_type)

    def settings_of(self, job_type: str) -> JobType:
        """A type's settings; the defaults for one that is no longer deployed, whose jobs still need an end."""
        return self.registry().types.get(job_type) or JobType(name=job_type)

    def forget(self) -> None:
        """Read anew next time."""
        for known in (self._registry, self._switches, *self._circuits.values()):
            if known is not None:
                known.at = None

    def _read_registry(self) -> Registry:
        registry = self._store.switchboard.registry()
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
