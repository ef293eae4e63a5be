"""Take turns: which member of a sequential group comes next, and what lets it in."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from leasehold.kernel.jobs import Write, transition
from leasehold.kernel.keys import Due, position_at
from leasehold.kernel.transitions import TAKE_TURN
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.groups.model import Group
    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change

_PAGE = 25


@dataclass(frozen=True, slots=True)
class Turn:
    """`member` is whose turn it is, or the number of members if all have had theirs."""

    member: int
    changes: tuple[Change, ...] = ()


def next_turn(group: Group, start: int, services: Services) -> Turn:
    """The first member from `start` on that has not ended; who was cancelled before its turn is passed by."""
    for number, job in _members_from(group, start, services):
        if job is not None and not job.has_ended:
            return Turn(number, (transition(_let_in(job, services)),))
    return Turn(group.total)


def _members_from(group: Group, start: int, services: Services) -> Iterator[tuple[int, Job | None]]:
    """Members in order: the first alone, as it is nearly always the one; then a page at a time."""
    for page in count():
        last = min(group.total, start + (1 if page == 0 else _PAGE))
        if start >= last:
            return
        numbers = range(start, last)
        found = services.store.jobs.get_many([group.member_id(number) for number in numbers])
        yield from ((number, found.get(group.member_id(number))) for number in numbers)
        start = last


def _let_in(job: Job, services: Services) -> Write:
    now = services.clock.now()
    # A fresh position: a due key never recurs, not even for a turn that comes in the moment of the creation.
    due = Due(now, position_at(now), job.job_id)
    return Write(
        job_id=job.job_id,
        transition=TAKE_TURN,
        seen={"due_key": job.due, "priority": job.priority},
        values={"due_lane": job.run_lane, "due_key": due, "wake": True},
    )
