"""Ends of members: each owes its group that it is counted, and the group goes on in the transaction that counts it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.groups.model import Group, GroupMode, GroupState, MemberEnd, OnFailure, end_of
from leasehold.groups.plan import told
from leasehold.groups.records import callback_used, change_of, codes_expire
from leasehold.kernel.end import Ending
from leasehold.kernel.hooks import NOTHING, Hooks, Joining
from leasehold.kernel.job import MAX_REASON_BYTES, Outcome
from leasehold.kernel.jobs import Write, insertion, transition
from leasehold.kernel.keys import Due, make_stamp, position_at, to_text
from leasehold.kernel.offload import offloaded
from leasehold.kernel.payload import encode, shortened
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.table import request_token
from leasehold.kernel.transitions import CANCEL, REQUEST_CANCEL, SKIP, TAKE_TURN, TURN_AWAY, JobStatus
from leasehold.kernel.trust import report
from leasehold.lean import dataclass
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change


class GroupHooks(Hooks):
    def with_end(self, end: Ending, services: Services) -> Joining:
        has_ended = end.step.target is not None and end.step.target.has_ended
        return Joining(is_owed=True) if has_ended else NOTHING

    def settle(self, jobs: Sequence[Job], services: Services) -> Joining:
        group_id = jobs[0].group_id
        assert group_id is not None
        # Read after the jobs were seen to have ended: from then on their turns cannot come any more.
        group = services.store.groups.get(group_id)
        if group is None or group.has_ended:
            return NOTHING
        step = Step(group)
        for job in jobs:
            if job.member is None or group.member_id(job.member) != job.job_id:
                problem = f"it calls itself member {job.member} of group {group_id}, which it is not"
                report(job.job_id, problem, services)
                continue
            after = after_member(step.group, job, services)
            step = Step(after.group, (*step.changes, *after.changes))
        if step.group == group:
            return NOTHING
        return Joining(
            changes=[change_of(group, step.group), *step.changes], then=lambda: log_change(group, step.group, services)
        )


@dataclass(frozen=True, slots=True)
class Step:
    """What a group becomes, and what becomes of jobs in the same transaction."""

    group: Group
    changes: tuple[Change, ...] = ()


def after_member(group: Group, job: Job, services: Services) -> Step:
    """What the end of this member makes of its group."""
    end = end_of(job)
    counted = group.counting({end: 1})
    if counted.left == 0:
        return finish(counted, services)
    if group.state is not GroupState.RUNNING:
        return Step(counted)
    if end is MemberEnd.FAILED and group.on_failure is not OnFailure.CONTINUE:
        reason = f"member {job.member} failed: {job.last_error_code or 'unknown'}"
        return Step(swept_from(group.total, counted, GroupState.STOPPING, reason, services))
    if group.mode is GroupMode.SEQUENTIAL and group.turn is not None and job.member == group.turn:
        turn, let_in = next_turn(group, group.turn + 1, services)
        return Step(replace(counted, turn=turn), let_in)
    return Step(counted)


# Members that are read at once to find the next.
_TURNS_PAGE = 25


def next_turn(group: Group, start: int, services: Services) -> tuple[int, tuple[Change, ...]]:
    """The first member from `start` on that has not ended, and what lets it in; the group's total if there is none."""
    page = 1  # the first alone, as it is nearly always the one
    while start < group.total:
        numbers = range(start, min(group.total, start + page))
        found = services.store.jobs.get_many([group.member_id(number) for number in numbers])
        for number in numbers:
            job = found.get(group.member_id(number))
            if job is not None and not job.has_ended:
                return number, (transition(_let_in(job, services)),)
        start, page = numbers.stop, _TURNS_PAGE
    return group.total, ()


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


def due_after(wait: timedelta, group: Group, services: Services) -> Group:
    """The group as one that a poll tends after that time."""
    now = services.clock.now()
    return group.due_at(now + wait, now, make_stamp(services.random_source))


def swept_from(number: int, group: Group, state: GroupState, reason: str, services: Services) -> Group:
    """The group as it is while polls end its members below this number."""
    return due_after(timedelta(0), replace(group, state=state, swept=number, reason=reason), services)


def finish(group: Group, services: Services) -> Step:
    """The end of a group whose last member has been counted: it makes the callback."""
    now = services.clock.now()
    ended = group.finished(now)
    job_id = ended.callback_job_id
    kept = services.store.groups.callback(group.group_id) if job_id else None
    also = codes_expire(ended)
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
    job = offloaded(replace(job, due_lane=job.run_lane), services)
    # Also of a type that is no longer deployed: then the job waits for it, and the group's end does not.
    return Step(ended, (insertion(job), callback_used(group.group_id), *also))


def commit(group: Group, step: Step, services: Services) -> bool:
    """Make of the group what the step says, with all that goes with it; False if something is not what was read."""
    if step.changes:
        token = token_of(group, services)
        is_done = services.store.groups.change_with(group, step.group, step.changes, token=token)
    else:
        is_done = services.store.groups.change(group, step.group)
    if is_done:
        log_change(group, step.group, services)
    return is_done


def token_of(group: Group, services: Services) -> str:
    return request_token("group", group.group_id, group.stamp, make_stamp(services.random_source))


def log_change(before: Group, after: Group, services: Services) -> None:
    """Log what became of a group, if its state changed."""
    if after.state is before.state:
        return
    log, group_id, by = services.telemetry.event, after.group_id, after.created_by
    if after.state is GroupState.RUNNING:
        log(Event.GROUP_CREATED, group_id=group_id, mode=str(after.mode), members=after.total, created_by=by)
        return
    log(Event.GROUP_ENDED if after.has_ended else Event.GROUP_STOPPING, **after.progress, reason=after.reason)
    job_id = after.callback_job_id
    if job_id is not None:
        log(Event.JOB_ENQUEUED, job_id=job_id, job_type=after.callback, group_id=group_id, created_by=by)


# As it is registered in features.py.
GROUPS = "groups"


def may_be_ended(job: Job, group: Group) -> bool:
    """A member that waits; of a cancelled group also one that was claimed and has not started."""
    is_unstarted = job.status is JobStatus.IN_PROGRESS and job.started_at is None
    return job.status.is_waiting or (is_unstarted and group.state is GroupState.CANCELLING)


def may_be_asked_to_stop(job: Job, group: Group) -> bool:
    is_running = job.status is JobStatus.IN_PROGRESS and job.started_at is not None
    return is_running and job.cancel_requested is None and group.state is GroupState.CANCELLING


def ending_of(job: Job, group: Group, services: Services, worker_id: str) -> Ending:
    """How a member that waits ends. One whose end is plain is counted in the same transaction.

    One that owes somebody else something too is not: `settle` does that first, and counts it after.
    """
    is_skipped = group.end_of_waiting is MemberEnd.SKIPPED
    reason, worker = reason_of(group), worker_id if is_skipped else None
    step = SKIP if is_skipped else TURN_AWAY if job.status.is_waiting else CANCEL
    outcome = Outcome.SKIPPED if is_skipped else None
    ending = partial(Ending, job, step, services, outcome=outcome, reason=reason, worker=worker)
    # Counted at once, it owes nothing more to its group.
    alone = ending(done={GROUPS})
    return alone if alone.is_plain else ending()


def ask_to_stop(job: Job, group: Group, services: Services) -> bool:
    """False if it does not run any more: it has ended, or waits to be tried again."""
    values = {"cancel_requested": to_text(services.clock.now()), "cancel_reason": reason_of(group)}
    try:
        services.store.jobs.apply_and_read(Write(job_id=job.job_id, transition=REQUEST_CANCEL, values=values))
    except TransitionRefused:
        return False
    return True


def reason_of(group: Group) -> str:
    """What a member is told of why it ended."""
    stopped = "was cancelled" if group.state is GroupState.CANCELLING else "stopped"
    return shortened(f"group {group.group_id} {stopped}: {group.reason}", MAX_REASON_BYTES)
