"""End a member because its group stops: cancelled, or skipped, as the group says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.domain.group import GroupState, MemberEnd, OnFailure
from leasehold.domain.instants import to_text
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import CANCEL, REQUEST_CANCEL, SKIP, TURN_AWAY, JobStatus, Transition, Write
from leasehold.domain.run import MAX_REASON_BYTES, Outcome, Run, appended, next_number
from leasehold.domain.text import shortened
from leasehold.engine.end_run import RunEnd, webhook_of
from leasehold.engine.endings import end_values
from leasehold.engine.telemetry import COMPLETED, Event
from leasehold.engine.tidy import give_back_seats
from leasehold.store.jobs import TransitionRefused
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from leasehold.domain.group import Group
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts


@dataclass(frozen=True, slots=True)
class EndedMember:
    """How a member ends. `is_counted` tells whether its count is part of the same transaction.

    It is unless the member owes somebody else something too: then `settle` does that first, and counts it after.
    """

    job: Job
    end: MemberEnd
    reason: str
    write: Write
    is_counted: bool


def may_be_ended(job: Job, group: Group) -> bool:
    """A member that waits; of a cancelled group also one that was claimed and has not started."""
    is_unstarted = job.status is JobStatus.IN_PROGRESS and job.started_at is None
    return job.status.is_waiting or (is_unstarted and group.state is GroupState.CANCELLING)


def may_be_asked_to_stop(job: Job, group: Group) -> bool:
    is_running = job.status is JobStatus.IN_PROGRESS and job.started_at is not None
    return is_running and job.cancel_requested is None and group.state is GroupState.CANCELLING


def ended(job: Job, group: Group, parts: Parts, worker_id: str) -> EndedMember:
    reason = reason_of(group)
    is_skipped = group.state is GroupState.STOPPING and group.on_failure is OnFailure.SKIP_REMAINING
    step = SKIP if is_skipped else TURN_AWAY if job.status.is_waiting else CANCEL
    special: dict[str, object] = (
        {"runs": _with_skipped_run(job, reason, parts, worker_id)} if is_skipped else {"cancel_reason": reason}
    )
    # Counted at once, it owes nothing more to its group.
    alone = replace(job, group_id=None)
    is_told = is_skipped and webhook_of(job, parts) is not None
    is_counted = not is_told and not alone.owes_after(_target(step))
    job_type = parts.deployment.settings_of(job.job_type)
    values = end_values(alone if is_counted else job, step, parts.clock.now(), job_type, parts.deployment.registry())
    write = Write(job_id=job.job_id, transition=step, seen={"due_key": job.due}, values={**values, **special})
    end = MemberEnd.SKIPPED if is_skipped else MemberEnd.CANCELLED
    return EndedMember(job, end, reason, write, is_counted)


def after_end(member: EndedMember, parts: Parts) -> None:
    job = member.job
    event = Event.JOB_COMPLETED if member.end is MemberEnd.SKIPPED else Event.JOB_CANCELLED
    parts.telemetry.event(event, job_id=job.job_id, job_type=job.job_type, status=str(member.end), reason=member.reason)
    parts.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status=str(member.end))
    give_back_seats(job, parts)


def end_alone(member: EndedMember, parts: Parts) -> bool:
    """End a member that is counted later; False if it is not what was read."""
    # Each poller's own: with a shared token, two at the same millisecond would both be told that they did it.
    token = request_token(member.job.job_id, member.write.transition.name, f"{parts.chance.bits(64):x}")
    try:
        RunEnd(member.job, member.write, parts, token=token).commit()
    except TransitionRefused:
        return False
    after_end(member, parts)
    return True


def ask_to_stop(job: Job, group: Group, parts: Parts) -> bool:
    """False if it does not run any more: it has ended, or waits to be tried again."""
    values = {"cancel_requested": to_text(parts.clock.now()), "cancel_reason": reason_of(group)}
    try:
        parts.store.jobs.advance(Write(job_id=job.job_id, transition=REQUEST_CANCEL, values=values))
    except TransitionRefused:
        return False
    return True


def reason_of(group: Group) -> str:
    """What a member is told of why it ended."""
    stopped = "was cancelled" if group.state is GroupState.CANCELLING else "stopped"
    return shortened(f"group {group.group_id} {stopped}: {group.reason}", MAX_REASON_BYTES)


def _with_skipped_run(job: Job, reason: str, parts: Parts, worker_id: str) -> tuple[Run, ...]:
    now = parts.clock.now()
    run = Run(
        number=next_number(job.runs),
        worker=worker_id,
        started_at=now,
        ended_at=now,
        outcome=Outcome.SKIPPED,
        reason=reason,
    )
    return appended(job.runs, run)


def _target(step: Transition) -> JobStatus:
    assert step.target is not None
    return step.target
