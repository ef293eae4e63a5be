"""The due index: which lane an item waits in, and where in that lane."""

from __future__ import annotations

import zlib
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from leasehold.domain.instants import from_text, to_millis, to_text
from leasehold.domain.position import CREATION_WIDTH, to_digits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime


# Marks an entry that is not to be claimed yet; no position begins with it.
_OWING = "!"


class Priority(IntEnum):
    """Higher runs first."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    CRITICAL = 3


class Due(NamedTuple):
    """When an item next needs the poller, and its place among those due at the same moment.

    `position` is the creation time unless an operator moved the job, so that equal due times run in creation order.
    `attempt` is the one that a job waits for, or is in: who claims it knows nothing else of it, and the count itself
    would cost a write of the index at each start.
    """

    at: datetime
    position: str
    item_id: str
    attempt: int = 1

    @property
    def key(self) -> str:
        """
        >>> Due(from_text("2026-01-01T00:00:00.000Z"), "0mjrz3w00", "a1", attempt=2).key
        '2026-01-01T00:00:00.000Z#0mjrz3w00#a1#2'
        """
        retried = f"#{self.attempt}" if self.attempt > 1 else ""
        return f"{to_text(self.at)}#{self.position}#{self.item_id}{retried}"

    @property
    def keys_before(self) -> tuple[str, str]:
        """The first and the last key of what is due at the same time with a lower position."""
        return f"{to_text(self.at)}#", f"{to_text(self.at)}#{self.position}#"

    @property
    def keys_after(self) -> tuple[str, str]:
        """Those of a higher position. `$` sorts after `#` and before every digit: after all of the same position."""
        return f"{to_text(self.at)}#{self.position}$", f"{to_text(self.at)}$"

    def moved_to(self, at: datetime) -> Due:
        return self._replace(at=at)

    def owing_since(self, now: datetime) -> Due:
        """Where a job waits that owes something first: due at once, and this entry comes after it is done.

        >>> due = Due.parse("2026-11-18T09:00:00.000Z#0001#x")
        >>> due.owing_since(from_text("2026-11-18T08:00:00.000Z")).afterwards == due
        True
        """
        return Due(now, f"{_OWING}{to_text(self.at)}{_OWING}{self.position}", self.item_id)

    @property
    def afterwards(self) -> Due | None:
        """What comes once a job has done what it owes; None for an entry at which nothing is owed first."""
        if not self.position.startswith(_OWING):
            return None
        _, at, position = self.position.split(_OWING, 2)
        return Due(from_text(at), position, self.item_id)

    @classmethod
    def parse(cls, key: str) -> Due:
        at, position, item_id = key.split("#", 2)
        retried, _, attempt = item_id.rpartition("#")
        if attempt.isdecimal():  # the names of scopes may hold a separator, and end in no number
            return cls(from_text(at), position, retried, int(attempt))
        return cls(from_text(at), position, item_id)


def position_at(created_at: datetime) -> str:
    """A creation time as fixed-width text that sorts like the time itself."""
    return to_digits(to_millis(created_at), CREATION_WIDTH)


def run_lane(priority: int, shard: int) -> str:
    """Lanes know no types: however many there are, a poll asks as often."""
    return f"{int(priority)}#{shard}"


def queue_of(job_type: str, concurrency_key: str | None) -> str:
    """Which jobs wait together: those of one type, and of one key where the type's limits ask for it."""
    return job_type if concurrency_key is None else f"{job_type}#{concurrency_key}"


def type_of_queue(queue: str) -> str:
    return queue.partition("#")[0]


def hold_lane(queue: str, priority: int) -> str:
    """Where jobs of a queue wait that may not run now; by priority, so that a limit does not undo it.

    >>> hold_lane(queue_of("user_sync", "acme"), Priority.HIGH)
    'hold#2#user_sync#acme'
    """
    return f"hold#{int(priority)}#{queue}"


def queue_of_lane(lane: str) -> str | None:
    """The queue of a hold lane; None for any other lane."""
    return lane.split("#", 2)[2] if is_hold_lane(lane) else None


def is_hold_lane(lane: str) -> bool:
    return lane.startswith("hold#")


def lanes_by_priority(shards: int) -> Iterator[list[str]]:
    """The lanes that a poll visits, those of the highest priority first."""
    for priority in sorted(Priority, reverse=True):
        yield [run_lane(priority, shard) for shard in range(shards)]


# Schedules and groups wait where polls look first, on the shard that every deployment has.
SERVICE_LANE = run_lane(Priority.CRITICAL, 0)


# No more, since whoever counts or lists what waits reads all of them.
_SERVICE_LANES = 4


def service_lane(name: str, shards: int) -> str:
    """Where a scope waits to be looked at: scopes are spread, since one lane bears some 500 ends a second."""
    return run_lane(Priority.CRITICAL, zlib.crc32(name.encode()) % min(shards, _SERVICE_LANES))


def service_lanes(shards: int) -> list[str]:
    return [run_lane(Priority.CRITICAL, shard) for shard in range(min(shards, _SERVICE_LANES))]


def due_until(now: datetime) -> str:
    """The greatest due key that is due at `now`: `~` sorts after every position."""
    return f"{to_text(now)}#~"
