"""What planning needs to know of the system, each read paid from the page's budget."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.due import service_lanes
from leasehold.domain.group import is_group_scope
from leasehold.domain.job_type import CLOCK_TOLERANCE
from leasehold.domain.lean import dataclass
from leasehold.engine.cancel_group import find_group
from leasehold.limits.waiting import is_told_by_name, lanes_by_name, lanes_waiting_for, waiting_scopes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.admin.budget import Budget
    from leasehold.domain.control import Registry
    from leasehold.domain.group import Group
    from leasehold.engine.parts import Parts

_SCOPES_READ = 1000
# Lines of scopes that types share, and lanes of each, that are read for one listing.
_LINES_READ = 2
_LANES_READ = 100


class Scene:
    def __init__(self, parts: Parts, budget: Budget) -> None:
        budget.spend()
        self._parts = parts
        self._budget = budget
        self.registry: Registry = parts.deployment.registry()
        self.now: datetime = parts.clock.now()

    @property
    def leases_over(self) -> datetime:
        """When the last of the leases that are held now will be over, by the types that are deployed."""
        leases = (each.lease_length for each in self.registry.types.values())
        return self.now + max(leases, default=timedelta(0)) + CLOCK_TOLERANCE

    def group(self, group_id: str) -> Group:
        self._budget.spend()
        return find_group(group_id, self._parts)

    def waiting_lanes(self, job_type: str | None) -> WaitingLanes:
        """Where jobs are held. Lanes of keys are named after them; those of other scopes are read, a few of these."""
        self._budget.spend(1 + len(service_lanes(self.registry.shards)))
        lanes: set[str] = set()
        unread = 0
        reads = 0
        for scope in waiting_scopes(self._parts, limit=_SCOPES_READ):
            found = [*lanes_by_name(scope)]
            if not is_told_by_name(scope) and reads < _LINES_READ:
                self._budget.spend()
                reads += 1
                read = lanes_waiting_for(scope, self._parts, limit=_LANES_READ)
                unread += len(read) == _LANES_READ
                found += read
            elif not is_told_by_name(scope):
                unread += 1
            lanes |= {lane.name for lane in found if job_type is None or _is_of_type(lane.queue, job_type)}
        return WaitingLanes(sorted(lanes), is_whole=unread == 0)


@dataclass(frozen=True, slots=True)
class WaitingLanes:
    """Names of lanes; there are more where it is not whole."""

    names: Sequence[str]
    is_whole: bool


def _is_of_type(queue: str, job_type: str) -> bool:
    return is_group_scope(queue) or queue.partition("#")[0] == job_type
