"""The queue in the order of dispatch: who is next, which place a job has, and how it gets another.

The order is by priority, then due time, then position, among those that are due and wait. Each shard has its own, and
so have the jobs of each type, or of its key, that are held back: one is next when there is room for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.due import Priority, hold_lane, queue_of_lane, run_lane
from leasehold.domain.errors import InvalidOptionError, JobNotFoundError, WrongStateError
from leasehold.domain.ids import shard_of
from leasehold.domain.lean import dataclass
from leasehold.domain.webhook import DELIVERY
from leasehold.engine.deeds import contended, tries
from leasehold.engine.move import check_waiting, move
from leasehold.engine.operate import find, look_at, reschedule
from leasehold.store.jobs import DueJob

if TYPE_CHECKING:
    from leasehold.domain.ids import JobId
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts
    from leasehold.store.table import Record

# Places beyond are not counted: four queries at most, and some 20 read units.
MAX_PLACES = 1000
# Schedules and scopes that are due stand in the first lane, too: in a crowd of them the line is cut short.
_MOST_READS = 8


@dataclass(frozen=True, slots=True)
class Line:
    """The first of those who wait; `is_complete` if these are all of them."""

    job_ids: tuple[JobId, ...]
    is_complete: bool


def line_of(parts: Parts, *, shard: int = 0, held_by: str | None = None, length: int = MAX_PLACES) -> Line:
    """Who is dispatched next, the first first: of those that may run, or of a queue (`queue_of`) that is held back."""
    found: list[JobId] = []
    reads = 0
    for priority in sorted(Priority, reverse=True):
        lane = run_lane(priority, shard) if held_by is None else hold_lane(held_by, priority)
        cursor: Record | None = None
        while len(found) <= length:
            if reads == _MOST_READS:
                return Line(tuple(found), is_complete=False)
            page = parts.store.jobs.due(lane, parts.clock.now(), limit=MAX_PLACES, after=cursor)
            reads += 1
            found += [each.job_id for each in page.entries if isinstance(each, DueJob) and _waits(each)]
            cursor = page.cursor
            if cursor is None:
                break
    return Line(tuple(found[:length]), is_complete=len(found) <= length)


def place_of(job: Job, parts: Parts) -> int | None:
    """The how-manieth it is of those that wait as it does; None if it is not due, or further back than is counted."""
    if not job.status.is_waiting or job.due is None or job.due.at > parts.clock.now():
        return None
    line = _line_with(job, parts)
    return line.index(job.job_id) + 1 if job.job_id in line else None


def move_in_queue(
    job_id: object,
    parts: Parts,
    *,
    before: object = None,
    after: object = None,
    position: int | None = None,
    reason: str = "moved",
) -> Job:
    """Next to another job, or to a place: exactly one of the three is given."""
    if position is None:
        return move(job_id, parts, before=before, after=after, reason=reason)
    if before is not None or after is not None:
        raise InvalidOptionError(
            (before, after, position), "a job is moved to one place", "Pass one of before, after and position."
        )
    return move_to_place(job_id, position, parts, reason=reason)


def move_to_place(job_id: object, place: object, parts: Parts, *, reason: str) -> Job:
    """Have a waiting job dispatched as the n-th of those that wait with it; behind the last if there are fewer."""
    if isinstance(place, bool) or not isinstance(place, int) or not 1 <= place <= MAX_PLACES:
        raise InvalidOptionError(place, f"a place in the queue is 1 to {MAX_PLACES}", "Use 1 for the next.")
    for _ in tries(parts):
        job = find(job_id, parts)
        check_waiting(job, "move")
        line = _line_with(job, parts)
        others = [each for each in line if each != job.job_id]
        if line[place - 1 : place] == [job.job_id] or (place > len(others) and line[-1:] == [job.job_id]):
            return look_at(job.job_id, parts)
        if not others:
            # Nobody waits: the first place is that of whoever is due.
            return reschedule(job.job_id, parts, reason=reason)
        try:
            if place <= len(others):
                return move(job.job_id, parts, before=others[place - 1], reason=reason)
            return move(job.job_id, parts, after=others[-1], reason=reason)
        except (WrongStateError, JobNotFoundError) as error:
            if error.job_id == job.job_id:
                raise
            # Whoever had that place is dispatched by now: count again.
    raise contended(f"the order around job {job_id}")


def _line_with(job: Job, parts: Parts) -> list[JobId]:
    queue = queue_of_lane(job.due_lane or "")
    return list(line_of(parts, shard=shard_of(job.job_id), held_by=queue).job_ids)


def _waits(entry: DueJob) -> bool:
    """Leases, deliveries and what owes an effect are in the same lanes."""
    return entry.status.is_waiting and entry.job_type != DELIVERY
