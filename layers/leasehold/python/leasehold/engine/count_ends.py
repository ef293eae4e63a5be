"""Count the ends of members: the group goes on, stops or ends in the transaction that counts.

So every end is counted once, whoever crashes; the last one knows that it is the last, and makes the callback.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.domain.due import Due, position_at
from leasehold.domain.group import Group, GroupMode, GroupState, MemberEnd, OnFailure, end_of
from leasehold.domain.lean import dataclass
from leasehold.domain.payload import encode
from leasehold.engine.group_plan import told
from leasehold.engine.lay_out import laid_out
from leasehold.engine.ports import make_stamp
from leasehold.engine.take_turn import next_turn
from leasehold.engine.telemetry import Event
from leasehold.store.group_records import are_codes_apart, codes_expire
from leasehold.store.groups import GroupChanged, callback_used
from leasehold.store.jobs import insertion
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts
    from leasehold.store.table import Change


@dataclass(frozen=True, slots=True)
class Step:
    """What a group becomes, and what becomes of jobs in the same transaction."""

    group: Group
    changes: tuple[Change, ...] = ()


def after_member(group: Group, job: Job, parts: Parts) -> Step:
    """What the end of this member makes of its group."""
    end = end_of(job)
    counted = group.counting({end: 1})
    if counted.left == 0:
        return finish(counted, parts)
    if group.state is not GroupState.RUNNING:
        return Step(counted)
    if end is MemberEnd.FAILED and group.on_failure is not OnFailure.CONTINUE:
        return Step(_stopping(counted, job, parts))
    if group.mode is GroupMode.SEQUENTIAL and group.turn is not None and job.member == group.turn:
        turn = next_turn(group, group.turn + 1, parts)
        return Step(replace(counted, turn=turn.member), turn.changes)
    return Step(counted)


def _stopping(group: Group, job: Job, parts: Parts) -> Group:
    now = parts.clock.now()
    stopping = replace(
        group,
        state=GroupState.STOPPING,
        swept=group.total,
        reason=f"member {job.member} failed: {job.last_error_code or 'unknown'}",
    )
    return stopping.due_at(now, now, make_stamp(parts.chance))


def finish(group: Group, parts: Parts) -> Step:
    """The end of a group whose last member has been counted: it makes the callback."""
    now = parts.clock.now()
    ended = group.finished(now)
    job_id = ended.callback_job_id
    kept = parts.store.groups.callback(group.group_id) if job_id else None
    also = (codes_expire(ended),) if are_codes_apart(ended) else ()
    if job_id is None or kept is None:
        return Step(ended, also)
    job = replace(
        kept,
        job_id=job_id,
        scheduled_for=now,
        created_at=now,
        due=Due(now, position_at(now), job_id),
        wake=True,
        stored_payload=encode(told(kept, ended)),
    )
    job = laid_out(replace(job, due_lane=job.run_lane), parts)
    # Also of a type that is no longer deployed: then the job waits for it, and the group's end does not.
    return Step(ended, (insertion(job), callback_used(group.group_id), *also))


def commit(group: Group, step: Step, parts: Parts) -> bool:
    """Make of the group what the step says, with all that goes with it; False if something is not what was read."""
    try:
        if step.changes:
            token = request_token("group", group.group_id, group.stamp, make_stamp(parts.chance))
            parts.store.groups.change_with(group, step.group, step.changes, token=token)
        elif not parts.store.groups.change(group, step.group):
            return False
    except GroupChanged:
        return False
    log_change(group, step.group, parts)
    return True


def log_change(before: Group, after: Group, parts: Parts) -> None:
    """Log what became of a group, if its state changed."""
    if after.state is before.state:
        return
    parts.telemetry.event(
        Event.GROUP_ENDED if after.has_ended else Event.GROUP_STOPPING, **after.progress, reason=after.reason
    )
    if after.callback_job_id is not None:
        parts.telemetry.event(
            Event.JOB_ENQUEUED,
            job_id=after.callback_job_id,
            job_type=after.callback,
            group_id=after.group_id,
            created_by=after.created_by,
        )
