"""What is deployed and what is switched off, read through a short cache."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.errors import NotDeployedError, SystemHaltedError, WebhooksOffError
from leasehold.domain.ids import code_of
from leasehold.domain.instants import to_text
from leasehold.domain.job_type import JobType
from leasehold.domain.webhook import DELIVERY

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.breaker import Circuit
    from leasehold.domain.control import Registry, Switches
    from leasehold.domain.ids import JobId
    from leasehold.engine.ports import Clock
    from leasehold.store.store import Store

# A halt takes effect within this time, everywhere.
CACHE_FOR = timedelta(seconds=5)


class Deployment:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._registry: tuple[datetime, Registry] | None = None
        self._switches: tuple[datetime, Switches] | None = None
        # Without a time: known, but to be read anew.
        self._circuits: dict[str, tuple[datetime | None, Circuit | None]] = {}

    def registry(self, *, fresh: bool = False) -> Registry:
        now = self._clock.now()
        if fresh or self._registry is None or not is_fresh(self._registry[0], now):
            registry = self._store.switchboard.registry()
            if registry is None:
                raise NotDeployedError(self._store.table.name)
            self._registry = (now, registry)
        return self._registry[1]

    def switches(self, *, fresh: bool = False) -> Switches:
        now = self._clock.now()
        if fresh or self._switches is None or not is_fresh(self._switches[0], now):
            self._switches = (now, self._store.switchboard.switches())
            self._circuits = {name: (None, circuit) for name, (_, circuit) in self._circuits.items()}
        return self._switches[1]

    def circuit(self, job_type: str, *, fresh: bool = False) -> Circuit | None:
        """The circuit of a type if it is open. Only types with a breaker have one to be read."""
        if self.settings_of(job_type).breaker is None:
            return None
        now = self._clock.now()
        read_at, circuit = self._circuits.get(job_type, (None, None))
        if fresh or read_at is None or not is_fresh(read_at, now):
            circuit = self._store.circuits.get(job_type)
            self._circuits[job_type] = (now, circuit)
        return circuit

    def known_circuit(self, job_type: str) -> Circuit | None:
        """The circuit of a type as it was last read, however long ago; nothing is read for it."""
        return self._circuits.get(job_type, (None, None))[1]

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
        self._registry = None
        self._switches = None
        self._circuits.clear()


def is_fresh(read_at: datetime, now: datetime) -> bool:
    # A clock that was set back must not keep an old answer alive.
    return timedelta(0) <= now - read_at < CACHE_FOR
