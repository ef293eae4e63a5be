"""The queue in the order of dispatch: who is next, which place a job has, and how it gets another.

The order is by priority, then due time, then position, among those that are due and wait. Each shard has its own, and
so have the jobs of each type, or of its key, that are held back: one is next when there is room for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from leasehold.audit.records import apply_with_record, audit_entry_on_job, contended, retried, tries
from leasehold.kernel.errors import (
    InvalidInputError,
    InvalidOptionError,
    JobNotFoundError,
    RefusedError,
    WrongStateError,
)
from leasehold.kernel.jobs import DueJob, Write, needs_wake
from leasehold.kernel.keys import (
    BASE,
    CREATION_WIDTH,
    Due,
    Priority,
    key_of,
    make_stamp,
    parse_job_id,
    partition_of,
    run_lane,
    to_digits,
    to_text,
)
from leasehold.kernel.table import DUE_INDEX, JOBS
from leasehold.kernel.transitions import RESCHEDULE
from leasehold.kernel.type_options import DELIVERY, whole_number
from leasehold.lean import dataclass
from leasehold.limits.lanes import hold_lane, queue_of_lane
from leasehold.operate.jobs import find, look_at, refuse_before_its_turn, reschedule

if TYPE_CHECKING:
    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record


MAX_POSITION_LENGTH = 200
# Places beyond are not counted: four queries at most, and some 20 read units.
MAX_PLACES = 1000
# Schedules and scopes that are due stand in the first lane, too: in a crowd of them the line is cut short.
_MOST_READS = 8
# The neighbour itself, and the job that is moved there; an index that lags may show that one twice.
_NEIGHBOURS = 3


@dataclass(frozen=True, slots=True)
class Line:
    """The first of those who wait; `is_complete` if these are all of them."""

    job_ids: tuple[JobId, ...]
    is_complete: bool


def line_of(services: Services, *, shard: int = 0, held_by: str | None = None, length: int = MAX_PLACES) -> Line:
    """Who is dispatched next, the first first: of those that may run, or of a queue (`queue_of`) that is held back."""
    found: list[JobId] = []
    reads = 0
    for priority in sorted(Priority, reverse=True):
        lane = run_lane(priority, shard) if held_by is None else hold_lane(held_by, priority)
        cursor: Record | None = None
        while len(found) <= length:
            if reads == _MOST_READS:
                return Line(tuple(found), is_complete=False)
            page = services.store.jobs.due(lane, services.clock.now(), limit=MAX_PLACES, after=cursor)
            reads += 1
            found += [each.job_id for each in page.entries if isinstance(each, DueJob) and _waits(each)]
            cursor = page.cursor
            if cursor is None:
                break
    return Line(tuple(found[:length]), is_complete=len(found) <= length)


def place_of(job: Job, services: Services) -> int | None:
    """The how-manieth it is of those that wait as it does; None if it is not due, or further back than is counted."""
    if not job.status.is_waiting or job.due is None or job.due.at > services.clock.now():
        return None
    line = _line_with(job, services)
    return line.index(job.job_id) + 1 if job.job_id in line else None


def move_to_place(job_id: object, place: object, services: Services, *, reason: str) -> Job:
    """Have a waiting job dispatched as the n-th of those that wait with it; behind the last if there are fewer."""
    place = whole_number(place, "a place in the queue", MAX_PLACES, "Use 1 for the next.")
    for _ in tries(services):
        job = find(job_id, services)
        check_waiting(job, "move")
        line = _line_with(job, services)
        others = [each for each in line if each != job.job_id]
        if line[place - 1 : place] == [job.job_id] or (place > len(others) and line[-1:] == [job.job_id]):
            return look_at(job.job_id, services)
        if not others:
            # Nobody waits: the first place is that of whoever is due.
            return reschedule(job.job_id, services, reason=reason)
        try:
            if place <= len(others):
                return move(job.job_id, services, before=others[place - 1], reason=reason)
            return move(job.job_id, services, after=others[-1], reason=reason)
        except (WrongStateError, JobNotFoundError) as error:
            if error.job_id == job.job_id:
                raise
            # Whoever had that place is dispatched by now: count again.
    raise contended(f"the order around job {job_id}")


def _line_with(job: Job, services: Services) -> list[JobId]:
    queue = queue_of_lane(job.due_lane or "")
    return list(line_of(services, shard=partition_of(job.job_id).shard, held_by=queue).job_ids)


def _waits(entry: DueJob) -> bool:
    """Leases, deliveries and what owes an effect are in the same lanes."""
    return entry.status.is_waiting and entry.job_type != DELIVERY


def move(job_id: object, services: Services, *, before: object = None, after: object = None, reason: str = "") -> Job:
    """Take over the priority and the due time of another waiting job, next to it in its lane."""
    wanted, other = _parse(job_id, before, after)

    def attempt() -> Job | None:
        job = check_waiting(find(wanted, services), "move")
        anchor = check_waiting(find(other, services), "move a job next to")
        due = _place(anchor, job, services, is_before=after is None)
        side = {"before": other} if after is None else {"after": other}
        audit_entry = audit_entry_on_job(wanted, "move", services, reason=reason, **side)
        is_done = apply_with_record(_write(job, anchor, due, services), audit_entry, services)
        return look_at(wanted, services) if is_done else None

    return retried(f"job {wanted}", attempt, services)


def _parse(job_id: object, before: object, after: object) -> tuple[JobId, JobId]:
    if (before is None) == (after is None):
        raise InvalidOptionError(
            (before, after), "a job is moved either before or after another", "Pass one of before and after."
        )
    wanted, other = parse_job_id(job_id), parse_job_id(before if after is None else after)
    if wanted == other:
        raise InvalidOptionError(wanted, "a job cannot be moved next to itself", "Name another job.")
    if partition_of(wanted).shard != partition_of(other).shard:
        raise NoCommonOrderError(wanted, partition_of(wanted).shard, other, partition_of(other).shard)
    return wanted, other


def check_waiting(job: Job, wanted: str) -> Job:
    if not job.status.is_waiting:
        raise WrongStateError(job.job_id, wanted, job.status, "Only a pending or failed job has a place in a lane.")
    refuse_before_its_turn(job, wanted)
    return job


def _place(anchor: Job, job: Job, services: Services, *, is_before: bool) -> Due:
    """A due key of the anchor's time that is not only between its neighbours, but also unlike any that ever was."""
    assert anchor.due is not None
    assert anchor.due_lane is not None
    mine = anchor.due.position
    neighbour = _neighbour(anchor.due_lane, anchor.due, services, is_before=is_before, besides=job.job_id)
    position = between(neighbour, mine) if is_before else between(mine, neighbour)
    if position is None:
        raise NoPlaceLeftError(anchor.job_id)
    return Due(anchor.due.at, position + make_stamp(services.random_source), job.job_id, job.attempts + 1)


def _neighbour(lane: str, due: Due, services: Services, *, is_before: bool, besides: JobId) -> str | None:
    """The position of whoever is due at the same time, directly before or after this place; None if nobody is.

    Entries of the very same position are passed by: only their ids order them, and nothing fits in between.
    """
    first, last = keys_beside(due, is_before=is_before)
    page = services.store.table.query(
        JOBS, lane, index=DUE_INDEX, first=first, last=last, limit=_NEIGHBOURS, newest_first=is_before
    )
    others = [record for record in page.records if record["SK"] != key_of(besides).sk]
    return Due.parse(cast("str", others[0]["due_key"])).position if others else None


def keys_beside(due: Due, *, is_before: bool) -> tuple[str, str]:
    """The first and the last key of what is due at the same time with a lower position, or with a higher one."""
    at = to_text(due.at)
    # `$` sorts after `#` and before every digit: after all of the same position.
    return (f"{at}#", f"{at}#{due.position}#") if is_before else (f"{at}#{due.position}$", f"{at}$")


def _write(job: Job, anchor: Job, due: Due, services: Services) -> Write:
    # Two jobs that wait in the same lane stay in it; else a poll decides where the moved one waits.
    lane = anchor.due_lane if anchor.is_held and anchor.due_lane == job.due_lane else anchor.run_lane
    values: dict[str, object] = {"due_key": due, "priority": anchor.priority, "due_lane": lane}
    if lane == anchor.run_lane and needs_wake(due.at, services.clock.now()):
        values["wake"] = True
    seen = {"due_key": job.due, "due_lane": job.due_lane}
    return Write(job_id=job.job_id, transition=RESCHEDULE, seen=seen, values=values)


def _cut(position: str, width: int) -> int:
    """The first digits as a number."""
    return int(position[:width].ljust(width, "0"), BASE)


def between(low: str | None, high: str | None) -> str | None:
    """A position after `low` and before `high`, whatever digits are written behind it; None if there is no room left.

    Without `low`, anywhere before `high`; without `high`, in the rest of `low`'s own millisecond, so that what is made
    later comes later.

    >>> between("0mjrz3w00", "0mjrz3w01")
    '0mjrz3w00i'
    """
    low = low or ""
    high = high or to_digits(_cut(low, CREATION_WIDTH) + 1, CREATION_WIDTH)
    for width in range(1, MAX_POSITION_LENGTH - _STAMP_WIDTH + 1):
        first, last = _cut(low, width) + 1, _cut(high, width) - 1
        room = last - first + 1
        if room >= _FEWEST - 1:
            return to_digits(_chosen(first, last, len(low) - len(high)), width)
    return None


# What a position leaves room for at its end: see `make_stamp`.
_STAMP_WIDTH = 8
# A place is chosen among so many at least, this share of them away from the neighbour that was moved last.
_FEWEST = 36


def _chosen(first: int, last: int, longer: int) -> int:
    # Of two neighbours the longer one was moved later, and who moves many moves on in the same direction: to stay close
    # to it leaves most of the room for those to come.
    aside = (last - first) // _ASIDE
    if longer > 0:
        return first + aside
    return last - aside if longer < 0 else (first + last) // 2


_ASIDE = 32


class NoCommonOrderError(InvalidInputError, code="no_common_order"):
    def __init__(self, job_id: str, job_shard: int, other_id: str, other_shard: int) -> None:
        super().__init__(
            (job_id, other_id),
            f"these two jobs have no common order: they are on the shards {job_shard} and {other_shard}, each of which "
            "has lanes of its own",
            "Move it next to a job of its own shard, or reprioritise or reschedule it.",
        )


class NoPlaceLeftError(RefusedError, code="no_place_left"):
    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"there is no place left next to job {job_id}: jobs were moved there too often. "
            "Reschedule that job, which gives it a fresh place, or move this one next to another."
        )
        self.job_id = job_id
