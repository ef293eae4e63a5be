"""What is deployed and what is switched off, read through a short cache."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.errors import NotDeployedError, SystemHaltedError
from leasehold.domain.instants import to_text
from leasehold.domain.job_type import JobType

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.control import Registry, Switches
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
        return self._switches[1]

    def refuse_if_halted(self) -> None:
        halt = self.switches().halt
        if halt is not None:
            raise SystemHaltedError(halt.by, to_text(halt.at), halt.reason)

    def settings_of(self, job_type: str) -> JobType:
        """A type's settings; the defaults for one that is no longer deployed, whose jobs still need an end."""
        return self.registry().types.get(job_type) or JobType(name=job_type)

    def forget(self) -> None:
        """Read anew next time."""
        self._registry = None
        self._switches = None


def is_fresh(read_at: datetime, now: datetime) -> bool:
    # A clock that was set back must not keep an old answer alive.
    return timedelta(0) <= now - read_at < CACHE_FOR
