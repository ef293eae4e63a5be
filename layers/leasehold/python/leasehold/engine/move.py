"""Move: give a waiting job the place directly before or after another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.due import Due
from leasehold.domain.errors import InvalidOptionError, NoCommonOrderError, NoPlaceLeftError, WrongStateError
from leasehold.domain.ids import parse_job_id, shard_of
from leasehold.domain.lifecycle import RESCHEDULE, Write
from leasehold.domain.position import between
from leasehold.engine.deeds import advance_with_record, contended, deed_on_job, tries
from leasehold.engine.draft import needs_wake
from leasehold.engine.operate import find, look_at, refuse_before_its_turn
from leasehold.engine.ports import make_stamp
from leasehold.store.jobs import TransitionRefused

if TYPE_CHECKING:
    from leasehold.domain.ids import JobId
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts


def move(job_id: object, parts: Parts, *, before: object = None, after: object = None, reason: str = "moved") -> Job:
    """Take over the priority and the due time of another waiting job, next to it in its lane."""
    wanted, other = _parse(job_id, before, after)
    for _ in tries(parts):
        job = check_waiting(find(wanted, parts), "move")
        anchor = check_waiting(find(other, parts), "move a job next to")
        due = _place(anchor, job, parts, is_before=after is None)
        side = {"before": other} if after is None else {"after": other}
        try:
            deed = deed_on_job(wanted, "move", parts, reason=reason, **side)
            advance_with_record(_write(job, anchor, due, parts), deed, parts)
        except TransitionRefused:
            continue
        return look_at(wanted, parts)
    raise contended(f"job {wanted}")


def _parse(job_id: object, before: object, after: object) -> tuple[JobId, JobId]:
    if (before is None) == (after is None):
        raise InvalidOptionError(
            (before, after), "a job is moved either before or after another", "Pass one of before and after."
        )
    wanted, other = parse_job_id(job_id), parse_job_id(before if after is None else after)
    if wanted == other:
        raise InvalidOptionError(wanted, "a job cannot be moved next to itself", "Name another job.")
    if shard_of(wanted) != shard_of(other):
        raise NoCommonOrderError(wanted, shard_of(wanted), other, shard_of(other))
    return wanted, other


def check_waiting(job: Job, wanted: str) -> Job:
    if not job.status.is_waiting:
        raise WrongStateError(job.job_id, wanted, job.status, "Only a pending or failed job has a place in a lane.")
    refuse_before_its_turn(job, wanted)
    return job


def _place(anchor: Job, job: Job, parts: Parts, *, is_before: bool) -> Due:
    """A due key of the anchor's time that is not only between its neighbours, but also unlike any that ever was."""
    assert anchor.due is not None
    assert anchor.due_lane is not None
    mine = anchor.due.position
    neighbour = parts.store.jobs.neighbour(anchor.due_lane, anchor.due, is_before=is_before, besides=job.job_id)
    position = between(neighbour, mine) if is_before else between(mine, neighbour)
    if position is None:
        raise NoPlaceLeftError(anchor.job_id)
    return Due(anchor.due.at, position + make_stamp(parts.chance), job.job_id, job.attempts + 1)


def _write(job: Job, anchor: Job, due: Due, parts: Parts) -> Write:
    values: dict[str, object] = {"due_key": due, "priority": anchor.priority, "due_lane": _lane(job, anchor)}
    if values["due_lane"] == anchor.run_lane and needs_wake(due.at, parts.clock.now()):
        values["wake"] = True
    seen = {"due_key": job.due, "due_lane": job.due_lane}
    return Write(job_id=job.job_id, transition=RESCHEDULE, seen=seen, values=values)


def _lane(job: Job, anchor: Job) -> str:
    """Two jobs that wait in the same lane stay in it; else a poll decides where the moved one waits."""
    is_shared = anchor.is_held and anchor.due_lane == job.due_lane
    return anchor.due_lane if is_shared and anchor.due_lane else anchor.run_lane
