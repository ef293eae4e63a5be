"""Sharing: which of several pollers works off the backlog of which shard.

A shard's lock makes one poller the one to go on there: advisory, since claims are safe without it. Where several shards
have a backlog, whoever sees that calls others, and each begins at shards of its own. One that never comes costs time
and nothing else: the shards of others are looked at once its own are done, and now and then.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.poll import Part
from leasehold.pool import ahead

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.kernel.services import Services
    from leasehold.pool import Pool

# So many pollers share the shards of a backlog.
MOST_POLLERS = 16
# A poller that died keeps others from a backlog for no longer than this.
_LOCKED_FOR = timedelta(seconds=10)
_LOOK_AT_OTHERS_AFTER = timedelta(seconds=2)


class Sharing:
    """One poll's view of who works where."""

    def __init__(self, services: Services, worker_id: str, part: Part, shards: int) -> None:
        self.part = part
        self._services = services
        self._worker_id = worker_id
        self._shards = shards
        self._locked_until: dict[int, datetime] = {}
        self._backlogs: set[int] = set()
        self._looked_at_others_at = services.clock.now()

    # --- locks

    def take(self, shard: int) -> bool:
        """Whether this poller is the one to go on here; prolongs a lock that it has."""
        now = self._services.clock.now()
        until = self._locked_until.pop(shard, None)
        if until is not None and until - now > _LOCKED_FOR / 2:
            self._locked_until[shard] = until
            return True
        if self._services.store.pollers.take_shard_lock(shard, self._worker_id, now, now + _LOCKED_FOR):
            self._locked_until[shard] = now + _LOCKED_FOR
            return True
        return False

    def has(self, shard: int) -> bool:
        return shard in self._locked_until and self._locked_until[shard] > self._services.clock.now()

    def give_up(self) -> None:
        while self._locked_until:
            shard, _ = self._locked_until.popitem()
            self._services.store.pollers.give_up_shard_lock(shard, self._worker_id)

    # --- parts

    def is_mine(self, shard: int) -> bool:
        return self.part.has(shard, self._shards)

    def looks_at_all(self, *, is_busy: bool) -> bool:
        """Whether it looks at the others' shards, too; `is_busy` with its own."""
        now = self._services.clock.now()
        if is_busy and self.part.of > 1 and now - self._looked_at_others_at < _LOOK_AT_OTHERS_AFTER:
            return False
        self._looked_at_others_at = now
        return True

    def share_out(self, shard: int, call_helper: Callable[[Part], None], pool: Pool | None, *, is_large: bool) -> None:
        """This shard has a backlog: call others if it is not the only one, or large, since jobs are spread over all."""
        self._backlogs.add(shard)
        pollers = min(self._shards, MOST_POLLERS)
        if self.part.of > 1 or pollers < 2 or not (is_large or len(self._backlogs) > 1):
            return
        self.part = Part(0, pollers)
        self._looked_at_others_at = self._services.clock.now()
        for _ in ahead(pool or self._services.pool, call_helper, [Part(each, pollers) for each in range(1, pollers)]):
            pass
