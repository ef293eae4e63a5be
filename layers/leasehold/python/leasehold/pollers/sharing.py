"""Sharing: which of several pollers works off the backlog of which shard.

A shard's lock makes one poller the one to go on there: advisory, since claims are safe without it. Where several shards
have a backlog, whoever sees that calls others, and each begins at shards of its own. One that never comes costs time
and nothing else: the shards of others are looked at once its own are done, and now and then.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from leasehold.pool import ahead

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.kernel.claim import Claims
    from leasehold.kernel.jobs import DueEntry, DuePage
    from leasehold.kernel.lanes import Lane
    from leasehold.kernel.poll import Poll
    from leasehold.kernel.registry import Switches
    from leasehold.kernel.table import Record

# So many pollers share the shards of a backlog.
MOST_POLLERS = 16
# A poller that died keeps others from a backlog for no longer than this.
_LOCKED_FOR = timedelta(seconds=10)
_LOOK_AT_OTHERS_AFTER = timedelta(seconds=2)


class Part(NamedTuple):
    """Which of the pollers that share a backlog, and so which shards it looks after first."""

    number: int
    of: int

    def has(self, shard: int, shards: int) -> bool:
        return self.first(shards) <= shard < Part(self.number + 1, self.of).first(shards)

    def first(self, shards: int) -> int:
        return self.number * shards // self.of


ALONE = Part(0, 1)


def share(poll: Poll, part: Part | None = None) -> Sharing:
    """Who works where, if several pollers are at it."""
    poll.sharing = poll.sharing or Sharing(poll, part)
    return poll.sharing


class Sharing:
    """One poll's view of who works where."""

    def __init__(self, poll: Poll, part: Part | None) -> None:
        self.part = part or ALONE
        # Lanes that another poller works off: it looks at them again after it has given up its lock.
        self.left_to_others: set[str] = set()
        self._services = poll.services
        self._worker_id = poll.poller.worker_id
        self._shards = poll.registry.shards
        self._locked_until: dict[int, datetime] = {}
        self._backlogs: set[int] = set()
        self._looked_at_others_at = poll.services.clock.now()

    def begin(self, lane: Lane, page: DuePage, poll: Poll) -> bool:
        """This page is of a backlog: whether it is this poller's, which calls others to help where there is more."""
        if not self.may_go_on_alone(lane):
            return False
        call_helper, pool = poll.poller.call_helper, poll.poller.pool or self._services.pool
        if call_helper is None:
            return True
        self._backlogs.add(lane.shard)
        pollers = min(self._shards, MOST_POLLERS)
        # It is not the only one, or it is large, since jobs are spread over all.
        is_large = page.cursor is not None and len(page.entries) >= poll.settings.poll_limit
        if self.part.of == 1 and (is_large or len(self._backlogs) > 1):
            self.part = Part(0, pollers)
            self._looked_at_others_at = self._services.clock.now()
            others = [Part(each, pollers) for each in range(1, pollers)]
            for _ in ahead(pool, call_helper, others):
                pass
        return True

    def may_go_on_alone(self, lane: Lane) -> bool:
        """Whether the shard's lock is ours; else its lane is left to whoever has it."""
        if self.take(lane.shard):
            return True
        lane.is_exhausted = True
        self.left_to_others.add(lane.name)
        return False

    def work_off(self, lane: Lane, claims: Claims, entries: Sequence[DueEntry], switches: Switches) -> bool:
        """Whoever has the lock is alone here, and claims as many as may be at once together."""
        entries, lane.is_contended = entries[::-1] if lane.is_contended else entries, False
        if self.has(lane.shard):
            return claims.at_once.work_off(entries, switches)
        return claims.work_off(entries, switches)

    def meet_winner(self, lane: Lane, page_at: Record | None) -> None:
        """The winner is one step ahead on the same page: read it again and meet the winner from the other end."""
        lane.cursor, lane.is_exhausted, lane.is_contended = page_at, False, True
        self.may_go_on_alone(lane)

    # --- locks

    def take(self, shard: int) -> bool:
        """Whether this poller is the one to go on here; prolongs a lock that it has."""
        now = self._services.clock.now()
        if self._locked_until.get(shard, now) - now <= _LOCKED_FOR / 2:
            self._locked_until.pop(shard, None)
            if not self._services.store.pollers.take_shard_lock(shard, self._worker_id, now, now + _LOCKED_FOR):
                return False
            self._locked_until[shard] = now + _LOCKED_FOR
        return True

    def has(self, shard: int) -> bool:
        return shard in self._locked_until and self._locked_until[shard] > self._services.clock.now()

    def give_up(self) -> None:
        while self._locked_until:
            shard, _ = self._locked_until.popitem()
            self._services.store.pollers.give_up_shard_lock(shard, self._worker_id)

    # --- parts

    def arranged(self, lanes: Sequence[Lane]) -> list[Lane]:
        """The lanes of one priority, those of its own first shard first."""
        for lane in lanes:
            lane.is_exhausted = lane.name in self.left_to_others
        first = next((at for at, lane in enumerate(lanes) if lane.shard >= self.part.first(self._shards)), 0)
        return [*lanes[first:], *lanes[:first]]

    def begin_round(self, lanes: Sequence[Lane]) -> None:
        """Pass by what it has left to others, and the other shards as long as it is busy with its own."""
        for lane in lanes:
            lane.is_exhausted |= lane.name in self.left_to_others
            lane.is_passed_by = not self.part.has(lane.shard, self._shards)
        if self.looks_at_all(is_busy=any(not (lane.is_exhausted or lane.is_passed_by) for lane in lanes)):
            for lane in lanes:
                lane.is_passed_by = False

    def looks_at_all(self, *, is_busy: bool) -> bool:
        """Whether it looks at the others' shards, too; `is_busy` with its own."""
        now = self._services.clock.now()
        if is_busy and self.part.of > 1 and now - self._looked_at_others_at < _LOOK_AT_OTHERS_AFTER:
            return False
        self._looked_at_others_at = now
        return True
