"""The due index: which lane an item waits in, and where in that lane."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from leasehold.domain.instants import from_text, to_millis, to_text
from leasehold.domain.position import CREATION_WIDTH, to_digits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime


class Priority(IntEnum):
    """Higher runs first."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    CRITICAL = 3


class Due(NamedTuple):
    """When an item next needs the poller, and its place among those due at the same moment.

    `position` is the creation time unless an operator moved the job, so that equal due times run in creation order.
    """

    at: datetime
    position: str
    item_id: str

    @property
    def key(self) -> str:
        return f"{to_text(self.at)}#{self.position}#{self.item_id}"

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

    @classmethod
    def parse(cls, key: str) -> Due:
        at, position, item_id = key.split("#", 2)
        return cls(from_text(at), position, item_id)


def position_at(created_at: datetime) -> str:
    """A creation time as fixed-width text that sorts like the time itself."""
    return to_digits(to_millis(created_at), CREATION_WIDTH)


def run_lane(priority: int, shard: int) -> str:
    """Lanes know no types: however many there are, a poll asks as often."""
    return f"{int(priority)}#{shard}"


def hold_lane(scope: str, priority: int) -> str:
    """Where jobs of a scope wait that may not run now; by priority, so that a limit does not undo it."""
    return f"hold#{int(priority)}#{scope}"


def scope_of_lane(lane: str) -> str | None:
    """The scope of a hold lane; None for any other lane."""
    return lane.split("#", 2)[2] if is_hold_lane(lane) else None


def is_hold_lane(lane: str) -> bool:
    return lane.startswith("hold#")


def lanes_by_priority(shards: int) -> Iterator[list[str]]:
    """The lanes that a poll visits, those of the highest priority first."""
    for priority in sorted(Priority, reverse=True):
        yield [run_lane(priority, shard) for shard in range(shards)]


# Scopes and schedules wait where polls look first, on the shard that every deployment has.
SERVICE_LANE = run_lane(Priority.CRITICAL, 0)


def due_until(now: datetime) -> str:
    """The greatest due key that is due at `now`: `~` sorts after every position."""
    return f"{to_text(now)}#~"
