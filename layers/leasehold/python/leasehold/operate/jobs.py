"""Operate: what people and programs may do to a job that exists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold import features
from leasehold.audit.records import apply_with_record, audit_entry_on_job, recorded_reason, retried
from leasehold.kernel.dedup import DedupRecord
from leasehold.kernel.end import Ending
from leasehold.kernel.enqueue import Draft, JobRequest, NewJob, draft
from leasehold.kernel.errors import (
    InvalidJobIdError,
    InvalidOptionError,
    JobNotFoundError,
    LeaseholdError,
    WrongStateError,
)
from leasehold.kernel.jobs import Write, needs_wake
from leasehold.kernel.keys import Due, Priority, parse_job_id, partition_of, position_at, run_lane, to_text
from leasehold.kernel.offload import plan_offload
from leasehold.kernel.payload import MISSING, PURGED
from leasehold.kernel.times import due_time
from leasehold.kernel.transitions import CANCEL, EDIT, REQUEST_CANCEL, RESCHEDULE
from leasehold.kernel.type_options import DELIVERY, parse_priority
from leasehold.lean import dataclass
from leasehold.limits.lanes import hold_lane, queue_of_lane
from leasehold.limits.model import group_scope, is_group_scope
from leasehold.operate.dead_letters import shown
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, timedelta

    from leasehold.kernel.job import Job, Run
    from leasehold.kernel.keys import JobId, PriorityName
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Attribute


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """`job_ended` says whether the job is cancelled now; if not, it runs, and was asked to stop.

    error: why one of many was left as it is.
    """

    job_id: JobId
    job_ended: bool
    error: LeaseholdError | None = None


def find(job_id: object, services: Services) -> Job:
    wanted = parse_job_id(job_id)
    job = services.store.jobs.get(wanted)
    if job is None:
        raise JobNotFoundError("job", wanted)
    return job


def look_at(job_id: object, services: Services) -> Job:
    """The job with its payload, wherever that stands."""
    return shown(find(job_id, services), services)


def find_run(run_id: object, services: Services) -> tuple[Job, Run | None]:
    """A run by its id with its job; None of one that goes on: what is known of it then stands on the job."""
    job_id, _, number = str(run_id).rpartition(".")
    if not number.isdecimal():
        raise InvalidJobIdError(run_id, "a run's id is a job's id, a dot and a number", "Look at the job's runs.")
    job = find(job_id, services)
    run = next((each for each in job.runs if each.run_id(job.job_id) == run_id), None)
    from leasehold.webhooks.model import running_document

    running = running_document(job)
    if run is None and (running is None or running["run_id"] != run_id):
        raise JobNotFoundError("run", str(run_id))
    return job, run


def cancel(job_id: object, reason: str, services: Services) -> Cancelled:
    """Cancel a job that has not started; ask one that runs to stop."""
    reason = recorded_reason(reason, services)

    def attempt() -> Cancelled | None:
        job = find(job_id, services)
        if job.has_ended:
            raise WrongStateError(job.job_id, "cancel", job.status, "It has ended already.")
        is_done = _ask_to_stop(job, reason, services) if job.started_at else _cancel_unstarted(job, reason, services)
        # It may have started or ended in between.
        return Cancelled(job_id=job.job_id, job_ended=job.started_at is None) if is_done else None

    return retried(f"job {job_id}", attempt, services)


def _cancel_unstarted(job: Job, reason: str, services: Services) -> bool:
    ending = Ending(job, CANCEL, services, reason=reason)
    if not apply_with_record(ending, audit_entry_on_job(job.job_id, "cancel", services, reason=reason), services):
        return False
    ending.concluded()
    return True


def _ask_to_stop(job: Job, reason: str, services: Services) -> bool:
    values = {"cancel_requested": to_text(services.clock.now()), "cancel_reason": reason}
    write = Write(job_id=job.job_id, transition=REQUEST_CANCEL, values=values)
    audit_entry = audit_entry_on_job(job.job_id, "request_cancel", services, reason=reason)
    if not apply_with_record(write, audit_entry, services):
        return False
    services.telemetry.event(Event.JOB_CANCEL_REQUESTED, job_id=job.job_id, job_type=job.job_type, reason=reason)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """How a job is run again. new_job_id: of the new job, for who may ask several times and wants one."""

    reason: str
    priority: Priority | PriorityName | int | None = None
    new_job_id: JobId | None = None


def successor(job: Job, services: Services, again: Again) -> Draft:
    """A new job that does the work of an ended one again, and holds the same dedup key."""
    job = services.store.payloads.shown(job)
    refuse_forgotten(job.job_id, job.payload_text)
    wanted = NewJob(
        priority=job.priority if again.priority is None else again.priority,
        max_attempts=job.max_attempts,
        created_by=services.identity.actor(),
        retry_of=job.job_id,
        concurrency_key=job.concurrency_key,
        retry=job.retry,
        webhook=job.webhook,
    )
    request = JobRequest(
        wanted=wanted, job_type=job.job_type, payload_text=job.payload_text, trace=job.trace, made_from=job.template
    )
    made = draft(request, services, job_id=again.new_job_id)
    if job.dedup is None:
        return made
    held = services.store.dedups.get(job.dedup)
    until = held.window_until if held else made.job.scheduled_for
    record = DedupRecord(ref=job.dedup, job_id=made.job.job_id, window_until=until)
    return Draft(replace(made.job, dedup=job.dedup, dedup_until=job.dedup_until), record, made.has_given_id)


def refuse_forgotten(job_id: JobId, payload_text: str) -> None:
    """The words that stand in the place of a payload are nothing that a handler could work with."""
    if payload_text == PURGED:
        raise WrongStateError(job_id, "repeat", "purged", "What it was to do is forgotten: enqueue it anew.")
    if payload_text == MISSING:
        raise WrongStateError(job_id, "repeat", "without payload", "That is gone: enqueue it anew.")


def reschedule(
    job_id: object,
    services: Services,
    *,
    run_at: datetime | None = None,
    run_in: timedelta | None = None,
    priority: Priority | PriorityName | int | None = None,
    reason: str = "",
) -> Job:
    """Move a waiting job to another time, without one to now; and to another priority, if one is given."""

    def write_for(job: Job) -> Write:
        refuse_before_its_turn(job, "reschedule")
        now = services.clock.now()
        at = due_time(run_at, run_in, now)
        # A fresh position: a due key never recurs, not even for a job that is moved away and back.
        due = Due(at, position_at(now), job.job_id, job.attempts + 1)
        values: dict[str, object] = {"due_lane": job.run_lane, "due_key": due}
        if priority is not None:
            level = parse_priority(priority)
            values |= {"priority": level, "due_lane": run_lane(level, partition_of(job.job_id).shard)}
        if needs_wake(at, now):
            values["wake"] = True
        seen = {"due_key": job.due, "due_lane": job.due_lane}
        return Write(job_id=job.job_id, transition=RESCHEDULE, seen=seen, values=values)

    return _while_waiting(job_id, "reschedule", write_for, services, reason)


def edit(
    job_id: object, values: dict[str, object], payload_text: str | None, services: Services, *, reason: str
) -> Job:
    """Change a waiting job to these values, and another payload. Nobody else's change in between is overwritten."""
    if not values and payload_text is None:
        raise InvalidOptionError(None, "edit got nothing to change", "Pass payload, priority or max_attempts.")
    before = find(job_id, services)
    refuse_edit_of_delivery(before)
    edited = None
    if payload_text is not None:
        features.check_payload(services.deployment.settings_of(before.job_type), payload_text, services)
        edited = plan_offload(replace(before, stored_payload=payload_text), services)
        values["payload"] = edited.job.stored_payload

    def write_for(job: Job) -> Write:
        # What we want to write may stand there already, by a try whose response was lost.
        if job.stored_payload not in {before.stored_payload, values.get("payload")}:
            raise WrongStateError(job.job_id, "edit", "changed by somebody else", "Look at it and edit again.")
        moved = dict(values)
        if isinstance(level := values.get("priority"), Priority) and job.due_lane is not None:
            queue = queue_of_lane(job.due_lane)
            if queue is not None and is_group_scope(queue):
                moved["due_lane"] = hold_lane(queue, level)
            else:
                # One that waits for a seat queues anew among those of its priority: a poll sees to it.
                moved["due_lane"] = run_lane(level, partition_of(job.job_id).shard)
                if job.is_held:
                    moved["wake"] = True
        if edited is not None and edited.item is not None:
            services.store.table.write(edited.item)
        seen = {"due_key": job.due, "due_lane": job.due_lane, "payload": job.stored_payload}
        return Write(job_id=job.job_id, transition=EDIT, seen=seen, values=moved)

    return _while_waiting(job_id, "edit", write_for, services, reason)


def refuse_edit_of_delivery(job: Job) -> None:
    if job.job_type == DELIVERY:
        raise WrongStateError(
            job.job_id, "edit", "a delivery of a webhook, which the system alone makes", "Cancel it, or retry it."
        )


def refuse_before_its_turn(job: Job, wanted: str) -> None:
    """A member of a group has no place in a lane until its group lets it in, and nobody else may."""
    queue = queue_of_lane(job.due_lane or "")
    if job.due_lane is None or (job.group_id is not None and queue == group_scope(job.group_id)):
        hint = f"Group {job.group_id!r} decides when it may run."
        raise WrongStateError(job.job_id, wanted, "waiting for its turn", hint)


def _while_waiting(
    job_id: object, wanted: str, write_for: Callable[[Job], Write], services: Services, reason: str
) -> Job:
    def attempt() -> Job | None:
        job = find(job_id, services)
        if not job.status.is_waiting:
            raise WrongStateError(job.job_id, wanted, job.status, "Only a pending or failed job can be changed.")
        write = write_for(job)
        details: dict[str, Attribute] = {"changed": [*sorted(write.values.keys() - {"due_lane", "due_key", "wake"})]}
        due = write.values.get("due_key")
        if isinstance(due, Due):
            details["due_at"] = to_text(due.at)
        audit_entry = audit_entry_on_job(job.job_id, wanted, services, reason=reason, **details)
        return look_at(job_id, services) if apply_with_record(write, audit_entry, services) else None

    return retried(f"job {job_id}", attempt, services)
