"""End a member because its group stops: cancelled, or skipped, as the group says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.group import GroupState, MemberEnd, OnFailure
from leasehold.domain.instants import to_text
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import CANCEL, REQUEST_CANCEL, SKIP, TURN_AWAY, JobStatus, Write
from leasehold.domain.run import MAX_REASON_BYTES, Outcome
from leasehold.domain.text import shortened
from leasehold.engine.telemetry import COMPLETED, Event
from leasehold.kernel.end import Ending
from leasehold.store.jobs import TransitionRefused

if TYPE_CHECKING:
    from leasehold.domain.group import Group
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts

# As it is registered in features.py.
GROUPS = "groups"


@dataclass(frozen=True, slots=True)
class EndedMember:
    """How a member ends. `is_counted` tells whether its count is part of the same transaction.

    It is unless the member owes somebody else something too: then `settle` does that first, and counts it after.
    """

    job: Job
    end: MemberEnd
    reason: str
    ending: Ending
    is_counted: bool


def may_be_ended(job: Job, group: Group) -> bool:
    """A member that waits; of a cancelled group also one that was claimed and has not started."""
    is_unstarted = job.status is JobStatus.IN_PROGRESS and job.started_at is None
    return job.status.is_waiting or (is_unstarted and group.state is GroupState.CANCELLING)


def may_be_asked_to_stop(job: Job, group: Group) -> bool:
    is_running = job.status is JobStatus.IN_PROGRESS and job.started_at is not None
    return is_running and job.cancel_requested is None and group.state is GroupState.CANCELLING


def ended(job: Job, group: Group, parts: Parts, worker_id: str) -> EndedMember:
    is_skipped = group.state is GroupState.STOPPING and group.on_failure is OnFailure.SKIP_REMAINING
    reason, worker = reason_of(group), worker_id if is_skipped else None
    step = SKIP if is_skipped else TURN_AWAY if job.status.is_waiting else CANCEL
    outcome = Outcome.SKIPPED if is_skipped else None
    # Counted at once, it owes nothing more to its group.
    alone = Ending(job, step, parts, outcome=outcome, reason=reason, worker=worker, done={GROUPS})
    ending = alone if alone.is_plain else Ending(job, step, parts, outcome=outcome, reason=reason, worker=worker)
    end = MemberEnd.SKIPPED if is_skipped else MemberEnd.CANCELLED
    return EndedMember(job, end, reason, ending, is_counted=ending is alone)


def after_end(member: EndedMember, parts: Parts) -> None:
    job = member.job
    event = Event.JOB_COMPLETED if member.end is MemberEnd.SKIPPED else Event.JOB_CANCELLED
    parts.telemetry.event(event, job_id=job.job_id, job_type=job.job_type, status=str(member.end), reason=member.reason)
    parts.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status=str(member.end))
    member.ending.after()


def end_alone(member: EndedMember, parts: Parts) -> bool:
    """End a member that is counted later; False if it is not what was read."""
    try:
        member.ending.commit()
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
