"""The members of a group, from the last to the first: their ids follow from their numbers, so no index is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.engine.trust import is_trusted

if TYPE_CHECKING:
    from leasehold.admin.budget import Budget
    from leasehold.admin.filters import JobFilter
    from leasehold.admin.legs import Members
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts
    from leasehold.store.unreadable import Unreadable

# As many as one request can fetch.
_BATCH = 100


def members_below(
    leg: Members,
    below: str | None,
    wanted: JobFilter,
    parts: Parts,
    *,
    limit: int,
    budget: Budget,
    unreadable: list[Unreadable],
) -> tuple[list[Job], str | None, int]:
    """Members that match, where to go on (None after the first member), and how many were looked at."""
    group = leg.group
    top = group.made if below is None else min(int(below), group.made)
    found: list[Job] = []
    looked = 0
    while top > 0 and budget.left and len(found) < limit:
        numbers = range(top - 1, max(top - 1 - _BATCH, -1), -1)
        budget.spend()
        fetched, damaged = parts.store.jobs.look_up([group.member_id(number) for number in numbers])
        unreadable += damaged
        for number in numbers:
            looked, top = looked + 1, number
            job = fetched.get(group.member_id(number))
            if job is not None and wanted.matches(job) and is_trusted(job.job_id, job.job_type, parts):
                found.append(job)
                if len(found) == limit:
                    break
    return found, str(top) if top > 0 else None, looked
