"""Shard locks: one poller per shard works off a backlog, so that pollers do not waste writes on each other's claims.

A lock is advisory. Claims are decided by their conditions alone; a poller asks for a lock only where it sees a backlog
or has just lost a race, so a single job costs no extra write. A free lock is anyone's.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.engine.parts import Parts

# A poller that died keeps others from a backlog for no longer than this.
LENGTH = timedelta(seconds=10)


class ShardLocks:
    """`most`: how many one poll keeps; the one that it used least lately is given up for the next. None for any."""

    def __init__(self, parts: Parts, worker_id: str) -> None:
        self.most: int | None = None
        self._parts = parts
        self._worker_id = worker_id
        # The one that was used last comes last.
        self._until: dict[int, datetime] = {}

    def take(self, shard: int) -> bool:
        """Whether this poller is the one to go on here; prolongs a lock that it has."""
        now = self._parts.clock.now()
        until = self._until.pop(shard, None)
        if until is not None and until - now > LENGTH / 2:
            self._until[shard] = until
            return True
        while self.most is not None and len(self._until) >= self.most:
            self._give_up(next(iter(self._until)))
        if self._parts.store.switchboard.take_shard_lock(shard, self._worker_id, now, now + LENGTH):
            self._until[shard] = now + LENGTH
            return True
        return False

    def has(self, shard: int) -> bool:
        return shard in self._until and self._until[shard] > self._parts.clock.now()

    def give_up(self) -> None:
        while self._until:
            self._give_up(next(iter(self._until)))

    def _give_up(self, shard: int) -> None:
        del self._until[shard]
        self._parts.store.switchboard.give_up_shard_lock(shard, self._worker_id)
