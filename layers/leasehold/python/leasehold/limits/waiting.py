"""Waiting: where jobs wait that may not run now, for whoever counts or lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.kernel.keys import Priority
from leasehold.kernel.lanes import service_lanes
from leasehold.kernel.other_entries import DueScope
from leasehold.kernel.type_options import type_scope
from leasehold.limits.admission import LAST_LOOK_AFTER
from leasehold.limits.lanes import queue_of
from leasehold.limits.model import is_group_scope, key_of_scope, type_of_scope
from leasehold.limits.scopes import Lane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.services import Services


def waiting_scopes(services: Services, *, limit: int) -> list[str]:
    """Scopes that lanes wait for: those of paused types, and all that are looked at within their longest wait."""
    latest = services.clock.now() + 2 * LAST_LOOK_AFTER
    scopes = {type_scope(job_type) for job_type in services.deployment.switches().pauses}
    for lane in service_lanes(services.deployment.registry().shards):
        page = services.store.jobs.due(lane, latest, limit=limit)
        scopes |= {entry.scope for entry in page.entries if isinstance(entry, DueScope)}
    return sorted(scopes)


def lanes_by_name(scope: str) -> list[Lane]:
    """The lanes that can wait for a scope, as far as its name tells: all of a key's and a group's."""
    job_type, key = type_of_scope(scope), key_of_scope(scope)
    queue = scope if is_group_scope(scope) else queue_of(*key) if key else job_type
    return [] if queue is None else [Lane(priority=priority, queue=queue) for priority in Priority]


def is_told_by_name(scope: str) -> bool:
    """Whether no other lanes can wait for it."""
    return is_group_scope(scope) or key_of_scope(scope) is not None


def lanes_waiting_for(scope: str, services: Services, *, limit: int) -> Sequence[Lane]:
    """The lanes of a scope; one read, and none where the name tells."""
    if is_told_by_name(scope):
        return lanes_by_name(scope)
    return [entry.lane for entry in services.store.lines.entries(scope, limit=limit)]
