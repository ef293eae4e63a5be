"""End a member that waits, because its group stops: cancelled, or skipped, as the group says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.domain.group import GroupState, MemberEnd, OnFailure
from leasehold.domain.lifecycle import SKIP, TURN_AWAY, JobStatus, Transition, Write
from leasehold.domain.run import MAX_REASON_BYTES, Outcome, Run, appended, next_number
from leasehold.domain.text import shortened
from leasehold.engine.endings import end_values
from leasehold.engine.telemetry import COMPLETED, Event
from leasehold.engine.turn_away import cancel_new, skip
from leasehold.store.jobs import transition

if TYPE_CHECKING:
    from leasehold.domain.group import Group
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts
    from leasehold.store.table import Update


@dataclass(frozen=True, slots=True)
class EndedMember:
    """A member's end as a change that commits together with its count."""

    job: Job
    end: MemberEnd
    reason: str
    change: Update


def owes_nothing_else(job: Job, group: Group) -> bool:
    """Whether the member's group is all that is told of its end: then both are one transaction."""
    return not replace(job, group_id=None).owes_after(_status_of(group))


def ended(job: Job, group: Group, parts: Parts, worker_id: str) -> EndedMember:
    reason = reason_of(group)
    step, special = _special(job, group, parts, worker_id)
    job_type = parts.deployment.settings_of(job.job_type)
    # Counted at once, it owes nothing more to its group.
    values = end_values(replace(job, group_id=None), step, parts.clock.now(), job_type, parts.deployment.registry())
    write = Write(job_id=job.job_id, transition=step, seen={"due_key": job.due}, values={**values, **special})
    return EndedMember(job, MemberEnd.SKIPPED if step is SKIP else MemberEnd.CANCELLED, reason, transition(write))


def end_alone(job: Job, group: Group, parts: Parts, worker_id: str) -> bool:
    """End a member that owes something else as well: `settle` does that first and then counts it."""
    if _is_skipping(group):
        return skip(job, reason_of(group), parts, worker_id=worker_id)
    return cancel_new(job, reason_of(group), parts)


def tell_ended(member: EndedMember, parts: Parts) -> None:
    job = member.job
    event = Event.JOB_COMPLETED if member.end is MemberEnd.SKIPPED else Event.JOB_CANCELLED
    parts.telemetry.event(event, job_id=job.job_id, job_type=job.job_type, status=str(member.end), reason=member.reason)
    parts.telemetry.measure(COMPLETED, 1, job_type=job.job_type, status=str(member.end))


def reason_of(group: Group) -> str:
    """What a member is told of why it ended."""
    stopped = "was cancelled" if group.state is GroupState.CANCELLING else "stopped"
    return shortened(f"group {group.group_id} {stopped}: {group.reason}", MAX_REASON_BYTES)


def _special(job: Job, group: Group, parts: Parts, worker_id: str) -> tuple[Transition, dict[str, object]]:
    if not _is_skipping(group):
        return TURN_AWAY, {"cancel_reason": reason_of(group)}
    now = parts.clock.now()
    run = Run(
        number=next_number(job.runs),
        worker=worker_id,
        started_at=now,
        ended_at=now,
        outcome=Outcome.SKIPPED,
        reason=reason_of(group),
    )
    return SKIP, {"runs": appended(job.runs, run)}


def _is_skipping(group: Group) -> bool:
    return group.state is GroupState.STOPPING and group.on_failure is OnFailure.SKIP_REMAINING


def _status_of(group: Group) -> JobStatus:
    return JobStatus.COMPLETED if _is_skipping(group) else JobStatus.CANCELLED
