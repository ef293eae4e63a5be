"""What planning needs to know of the system, each read paid from the page's budget."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.due import SERVICE_LANE
from leasehold.domain.job_type import CLOCK_TOLERANCE
from leasehold.domain.limits import type_scope
from leasehold.engine.cancel_group import find_group
from leasehold.engine.hold import LOOK_AGAIN_AFTER
from leasehold.store.jobs import DueScope

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.admin.budget import Budget
    from leasehold.domain.control import Registry
    from leasehold.domain.group import Group
    from leasehold.engine.parts import Parts

_SCOPES_READ = 1000


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

    def waiting_scopes(self) -> list[str]:
        """Where jobs are held. A scope with waiting jobs is looked at each minute, unless its type is paused."""
        self._budget.spend(2)
        soon = self.now + LOOK_AGAIN_AFTER
        paused = {type_scope(job_type) for job_type in self._parts.deployment.switches().pauses}
        page = self._parts.store.jobs.due(SERVICE_LANE, soon, limit=_SCOPES_READ)
        return sorted(paused | {entry.scope for entry in page.entries if isinstance(entry, DueScope)})
