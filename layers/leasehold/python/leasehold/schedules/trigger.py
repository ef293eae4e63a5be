"""Trigger: make the jobs of the slots that have come, exactly one for each that the policies ask for.

EventBridge calls it, and so does every poll that finds a schedule due: whoever comes second finds the slot decided.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.draft import JobRequest, draft
from leasehold.kernel.due import Due, to_text
from leasehold.kernel.errors import InvalidInputError, MirrorError
from leasehold.kernel.keys import derive_job_id
from leasehold.kernel.offload import laid_out
from leasehold.kernel.payload import shortened
from leasehold.kernel.records import request_token
from leasehold.kernel.telemetry import Event
from leasehold.schedules.model import Decision, Missed, Overlap, decide
from leasehold.schedules.records import ScheduleChanged
from leasehold.schedules.recurrence import slots_after

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.services import Parts
    from leasehold.schedules.model import Schedule


_TRIES = 5
# How soon a slot that waits for the job before it is looked at again: after an eighth of that job's time so far.
_SHORTEST_WAIT, _LONGEST_WAIT = timedelta(seconds=30), timedelta(minutes=10)
# How soon one is whose job cannot be made, because its type is not deployed, or its template is not there.
_BACK_OFF = timedelta(minutes=5)


def trigger(name: str, parts: Parts) -> list[JobId]:
    """Decide about the slots that have come by now; returns the jobs that this call made.

    What is left after some rounds stays due, and the next poll goes on with it.
    """
    made: list[JobId] = []
    existing: frozenset[str] = frozenset()
    for _ in range(_TRIES):
        # A slot that comes while all is halted is left undecided: after the halt it is a missed one.
        if parts.deployment.switches().halt is not None:
            return made
        try:
            schedule = _current(name, parts)
            if schedule is None:
                return made
            jobs, is_done = _decide_once(schedule, existing, parts)
        except ScheduleChanged as changed:
            existing |= changed.existing
            continue
        made += jobs
        if is_done:
            return made
    return made


def _current(name: str, parts: Parts) -> Schedule | None:
    """The schedule if it runs; one that does not is told to EventBridge and then left alone."""
    schedule = parts.store.schedules.get(name)
    if schedule is None:
        return None
    converged = converge(schedule, parts)
    if converged is None or converged.is_active:
        return converged
    if converged.due_key is not None:
        now = parts.clock.now()
        parts.store.schedules.look_again(converged, _tell_at(converged, parts), now)
    return None


def _decide_once(schedule: Schedule, existing: frozenset[str], parts: Parts) -> tuple[list[JobId], bool]:
    """Decide about as many slots as fit into one transaction; the jobs made, and whether that was all."""
    now = parts.clock.now()
    slot = schedule.next_slot()
    if slot is None or slot > now:
        if schedule.due_key is None or Due.parse(schedule.due_key).at <= now:
            # It was due for EventBridge's sake only.
            parts.store.schedules.look_again(schedule, _due_at(schedule, schedule.cursor, parts), now)
        return [], True
    decision = _decision(schedule, now, parts)
    if decision is None:
        parts.store.schedules.look_again(schedule, now + _wait(schedule, now), now)
        return [], True
    try:
        if decision.make:
            look_up_template(schedule, parts)
        jobs = [job_of_slot(schedule, slot, parts) for slot in decision.make]
    except InvalidInputError:
        # Due again at once, it would fail at once, in every poll.
        parts.store.schedules.look_again(schedule, now + _BACK_OFF, now)
        raise
    jobs = [laid_out(job, parts) for job in jobs if job.job_id not in existing]
    token = request_token("trigger", schedule.name, to_text(schedule.cursor), f"{parts.chance.bits(64):x}")
    due_at = _due_at(schedule, decision.cursor, parts)
    parts.store.schedules.advance(schedule, jobs, decision.cursor, now, due_at=due_at, token=token)
    for job in jobs:
        tell(job, parts)
    return [job.job_id for job in jobs], due_at is None or due_at > now or schedule.overlap is Overlap.QUEUE


def _due_at(schedule: Schedule, cursor: datetime, parts: Parts) -> datetime | None:
    """When the schedule needs a poll again: at its next slot, or sooner if EventBridge is to be told again."""
    following = next(slots_after(schedule.recurrence, cursor), None)
    times = [each for each in (following, _tell_at(schedule, parts)) if each is not None]
    return min(times, default=None)


def _tell_at(schedule: Schedule, parts: Parts) -> datetime | None:
    """When EventBridge is to be told again; where it does not know, it has just now been tried in vain."""
    tell_at = next_telling_at(schedule, parts)
    return tell_at if tell_at is None or schedule.is_mirrored else tell_at + TELL_AGAIN_AFTER


def _decision(schedule: Schedule, now: datetime, parts: Parts) -> Decision | None:
    """What to do now; None if the slot has to wait for the job of the one before."""
    decision = decide(schedule, now)
    if not decision.make or schedule.overlap is Overlap.ALLOW:
        return decision
    is_running = _is_running(schedule, parts)
    if schedule.overlap is Overlap.QUEUE:
        return None if is_running else Decision(decision.make[:1], decision.make[0])
    if is_running:
        return Decision((), decision.cursor)
    # Made together they would overlap each other: the first runs, the others are skipped like any that come meanwhile.
    return Decision(decision.make[:1] if schedule.missed is Missed.ALL else decision.make[-1:], decision.cursor)


def _wait(schedule: Schedule, now: datetime) -> timedelta:
    so_far = now - (schedule.last_triggered_at or now)
    return max(_SHORTEST_WAIT, min(_LONGEST_WAIT, so_far / 8))


def _is_running(schedule: Schedule, parts: Parts) -> bool:
    if schedule.last_job_id is None:
        return False
    job = parts.store.jobs.get(schedule.last_job_id)
    return job is not None and not job.has_ended


# All jobs of schedules live on the shard that every deployment has: a slot's id must not depend on how many there are.
_SHARD = 0


def look_up_template(schedule: Schedule, parts: Parts) -> None:
    """Jobs of slots are made from the template as it is now, not as it was some seconds ago."""
    if schedule.template is not None:
        parts.templates.get(schedule.template, fresh=True)


def job_of_slot(
    schedule: Schedule, slot: datetime, parts: Parts, *, kind: str = "slot", created_by: str | None = None
) -> Job:
    request = JobRequest(
        job_type=schedule.job_type,
        payload_text=schedule.payload_text,
        priority=schedule.priority,
        template=schedule.template,
        created_by=created_by or f"schedule:{schedule.name}",
        schedule=schedule.name,
    )
    return draft(request, parts, job_id=id_of_slot(schedule, slot, parts, kind=kind)).job


def id_of_slot(schedule: Schedule, slot: datetime, parts: Parts, *, kind: str = "slot") -> JobId:
    partition = parts.deployment.registry().partition_of(schedule.job_type, _SHARD)
    return derive_job_id(slot, partition, "schedule", schedule.name, kind, to_text(slot))


def tell(job: Job, parts: Parts) -> None:
    parts.telemetry.event(
        Event.JOB_ENQUEUED,
        job_id=job.job_id,
        job_type=job.job_type,
        schedule=job.schedule,
        scheduled_for=to_text(job.scheduled_for),
        created_by=job.created_by,
    )


# When it is told again: after a refusal, and once more after it has listened. A call takes 21 s at most, with retries.
TELL_AGAIN_AFTER = timedelta(minutes=5)
_MAX_ERROR_BYTES = 512


def converge(schedule: Schedule, parts: Parts) -> Schedule | None:
    """The schedule as it is afterwards; None if it is gone, or waits for EventBridge to forget it."""
    tell_at = next_telling_at(schedule, parts)
    if tell_at is None and schedule.retired:
        parts.store.schedules.remove(schedule)
    if tell_at is None or tell_at > parts.clock.now():
        return None if schedule.retired else schedule
    try:
        return _told(schedule, parts)
    except ScheduleChanged:
        _make_up_for(schedule, parts)
        raise


def next_telling_at(schedule: Schedule, parts: Parts) -> datetime | None:
    """When EventBridge is to be told of it; None if it knows, or nobody is to be told."""
    if not parts.mirror.is_on:
        return None
    return schedule.mirror_again_at if schedule.is_mirrored else parts.clock.now()


def _told(schedule: Schedule, parts: Parts) -> Schedule | None:
    now = parts.clock.now()
    is_the_second_time = schedule.is_mirrored
    try:
        if schedule.retired:
            parts.mirror.delete(schedule.name)
        else:
            parts.mirror.put(schedule)
    except MirrorError as error:
        return _refused(schedule, str(error), parts)
    if schedule.retired and is_the_second_time:
        if not parts.store.schedules.remove(schedule):
            raise ScheduleChanged
        return None
    again_at = None if is_the_second_time else now + TELL_AGAIN_AFTER
    noted = parts.store.schedules.note_mirror(schedule, again_at)
    if not noted.retired:
        return noted
    parts.store.schedules.look_again(noted, again_at, now)
    return None


def _refused(schedule: Schedule, error: str, parts: Parts) -> Schedule | None:
    parts.telemetry.event(Event.MIRROR_FAILED, schedule=schedule.name, error=error)
    noted = parts.store.schedules.note_mirror_error(schedule, shortened(error, _MAX_ERROR_BYTES))
    if not noted.retired:
        return noted
    now = parts.clock.now()
    parts.store.schedules.look_again(noted, now + TELL_AGAIN_AFTER, now)
    return None


def _make_up_for(told: Schedule, parts: Parts) -> None:
    """What we have told may have landed on top of what a newer version told."""
    current = parts.store.schedules.get(told.name)
    if current is None:
        if not told.retired:
            parts.mirror.delete(told.name)
    elif current.version != told.version:
        parts.store.schedules.mirror_anew(told.name, parts.clock.now())
