"""The watch: one poller per shard works off a backlog, so that pollers do not waste writes on each other's claims.

It is advisory. Claims are decided by their conditions alone; a poller asks for the watch only where it sees a backlog
or has just lost a race, so a single job costs no extra write.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.engine.parts import Parts

# A poller that died keeps others from a backlog for no longer than this.
LENGTH = timedelta(seconds=10)


class Watches:
    def __init__(self, parts: Parts, worker_id: str) -> None:
        self._parts = parts
        self._worker_id = worker_id
        self._until: dict[int, datetime] = {}

    def take(self, shard: int) -> bool:
        """Whether this poller is the one to go on here; prolongs a watch that it has."""
        now = self._parts.clock.now()
        if shard in self._until and self._until[shard] - now > LENGTH / 2:
            return True
        if self._parts.store.switchboard.take_watch(shard, self._worker_id, now, now + LENGTH):
            self._until[shard] = now + LENGTH
            return True
        self._until.pop(shard, None)
        return False

    def has(self, shard: int) -> bool:
        return shard in self._until and self._until[shard] > self._parts.clock.now()

    def give_up(self) -> None:
        while self._until:
            shard, _ = self._until.popitem()
            self._parts.store.switchboard.give_up_watch(shard, self._worker_id)
