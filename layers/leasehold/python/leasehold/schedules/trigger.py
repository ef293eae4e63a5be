"""Trigger: make the jobs of the slots that have come, exactly one for each that the policies ask for.

EventBridge calls it, and so does every poll that finds a schedule due: whoever comes second finds the slot decided.
The function that EventBridge wakes may insert jobs and not read them: what needs a look at one it leaves to a poll.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from leasehold.kernel.enqueue import JobRequest, NewJob, draft, log_enqueued
from leasehold.kernel.errors import InvalidInputError, LeaseholdError
from leasehold.kernel.keys import Due, JobPartition, derive_job_id, position_at, to_text
from leasehold.kernel.offload import offloaded
from leasehold.kernel.payload import shortened
from leasehold.kernel.table import request_token
from leasehold.schedules.model import Decision, Missed, Overlap, decide
from leasehold.schedules.records import ScheduleChanged
from leasehold.schedules.recurrence import latest_slot, slots_after
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.kernel.job import Job
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.other_entries import DueItem
    from leasehold.kernel.services import Services
    from leasehold.schedules.model import Schedule


_TRIES = 5
# How soon a slot that waits for the job before it is looked at again: after an eighth of that job's time so far.
_SHORTEST_WAIT, _LONGEST_WAIT = timedelta(seconds=30), timedelta(minutes=10)
# How soon one is whose job cannot be made, because its type is not deployed, or its template is not there.
_BACK_OFF = timedelta(minutes=5)


def tend(entry: DueItem, services: Services, **_: object) -> int:
    """For the poll that finds a schedule due; how many jobs that has made."""
    return len(trigger(entry.name, services))


def trigger(name: str, services: Services, *, reads_jobs: bool = True) -> list[JobId]:
    """Decide about the slots that have come by now; returns the jobs that this call made.

    What is left after some rounds stays due, and the next poll goes on with it. Who may not read jobs wakes a poll
    where the slot depends on the job of the one before.
    """
    made: list[JobId] = []
    existing: frozenset[str] = frozenset()
    for _ in range(_TRIES):
        # A slot that comes while all is halted is left undecided: after the halt it is a missed one.
        if services.deployment.switches().halt is not None:
            break
        try:
            jobs, is_done = _decide_once(name, existing, services, reads_jobs=reads_jobs)
        except ScheduleChanged as changed:
            existing |= changed.existing
            continue
        made += jobs
        if is_done:
            break
    return made


def _current(name: str, services: Services) -> Schedule | None:
    """The schedule if it runs; one that does not is told to EventBridge and then left alone."""
    schedule = services.store.schedules.get(name)
    converged = None if schedule is None else converge(schedule, services)
    if converged is None or converged.is_active:
        return converged
    if converged.due_key is not None:
        services.store.schedules.look_again(converged, _tell_at(converged, services), services.clock.now())
    return None


def _decide_once(
    name: str, existing: frozenset[str], services: Services, *, reads_jobs: bool
) -> tuple[list[JobId], bool]:
    """Decide about as many slots as fit into one transaction; the jobs made, and whether that was all."""
    schedule = _current(name, services)
    if schedule is None:
        return [], True
    now = services.clock.now()
    if not reads_jobs and _depends_on_a_job(schedule, now):
        _leave_to_a_poll(schedule, now, services)
        return [], True
    slot = schedule.next_slot()
    if slot is None or slot > now:
        if schedule.due_key is None or Due.parse(schedule.due_key).at <= now:
            # It was due for EventBridge's sake only.
            services.store.schedules.look_again(schedule, _due_at(schedule, schedule.cursor, services), now)
        return [], True
    decision = _decision(schedule, now, services)
    if decision is None:
        services.store.schedules.look_again(schedule, now + _wait(schedule, now), now)
        return [], True
    try:
        if decision.make:
            look_up_template(schedule, services)
        jobs = [job_of_slot(schedule, slot, services) for slot in decision.make]
    except InvalidInputError:
        # Due again at once, it would fail at once, in every poll.
        services.store.schedules.look_again(schedule, now + _BACK_OFF, now)
        raise
    jobs = [offloaded(job, services) for job in jobs if job.job_id not in existing]
    token = request_token("trigger", schedule.name, to_text(schedule.cursor), f"{services.random_source.bits(64):x}")
    due_at = _due_at(schedule, decision.cursor, services)
    services.store.schedules.advance(schedule, jobs, decision.cursor, now, due_at=due_at, token=token)
    for job in jobs:
        log_enqueued(job, services)
    return [job.job_id for job in jobs], due_at is None or due_at > now or schedule.overlap is Overlap.QUEUE


def _due_at(schedule: Schedule, cursor: datetime, services: Services) -> datetime | None:
    """When the schedule needs a poll again: at its next slot, or sooner if EventBridge is to be told again."""
    following = next(slots_after(schedule.recurrence, cursor), None)
    return min(filter(None, (following, _tell_at(schedule, services))), default=None)


def _tell_at(schedule: Schedule, services: Services) -> datetime | None:
    """When EventBridge is to be told again; where it does not know, it has just now been tried in vain."""
    tell_at = next_telling_at(schedule, services)
    return tell_at if tell_at is None or schedule.is_mirrored else tell_at + TELL_AGAIN_AFTER


def _decision(schedule: Schedule, now: datetime, services: Services) -> Decision | None:
    """What to do now; None if the slot has to wait for the job of the one before."""
    decision = decide(schedule, now)
    if not decision.make or schedule.overlap is Overlap.ALLOW:
        return decision
    is_running = _is_running(schedule, services)
    if schedule.overlap is Overlap.QUEUE:
        return None if is_running else Decision(decision.make[:1], decision.make[0])
    if is_running:
        return Decision((), decision.cursor)
    # Made together they would overlap each other: the first runs, the others are skipped like any that come meanwhile.
    return Decision(decision.make[:1] if schedule.missed is Missed.ALL else decision.make[-1:], decision.cursor)


def _wait(schedule: Schedule, now: datetime) -> timedelta:
    so_far = now - (schedule.last_triggered_at or now)
    return max(_SHORTEST_WAIT, min(_LONGEST_WAIT, so_far / 8))


def _depends_on_a_job(schedule: Schedule, now: datetime) -> bool:
    follows_one = schedule.overlap is not Overlap.ALLOW and schedule.last_job_id is not None
    return follows_one and bool(decide(schedule, now).make)


def _leave_to_a_poll(schedule: Schedule, now: datetime, services: Services) -> None:
    """Wake one, unless a poll has put off this very slot, which waits for the job before it or for its type."""
    if schedule.due_key is None:
        return
    due, latest = Due.parse(schedule.due_key), latest_slot(schedule.recurrence, schedule.cursor, now)
    is_put_off = due.at > now
    # A due entry's position says when it was written.
    if not is_put_off or (latest is not None and position_at(latest) > due.position):
        services.store.schedules.wake(schedule, now, is_put_off=is_put_off)


def _is_running(schedule: Schedule, services: Services) -> bool:
    job = None if schedule.last_job_id is None else services.store.jobs.get(schedule.last_job_id)
    return job is not None and not job.has_ended


# All jobs of schedules live on the shard that every deployment has: a slot's id must not depend on how many there are.
_SHARD = 0


def look_up_template(schedule: Schedule, services: Services) -> None:
    """Jobs of slots are made from the template as it is now, not as it was some seconds ago."""
    if schedule.template is not None:
        from leasehold.templates.model import templates_of

        templates_of(services).get(schedule.template, fresh=True)


def job_of_slot(
    schedule: Schedule, slot: datetime, services: Services, *, kind: str = "slot", created_by: str | None = None
) -> Job:
    created_by = created_by or f"schedule:{schedule.name}"
    request = JobRequest(
        wanted=NewJob(priority=schedule.priority, template=schedule.template, created_by=created_by),
        job_type=schedule.job_type,
        payload_text=schedule.payload_text,
        schedule=schedule.name,
    )
    return draft(request, services, job_id=id_of_slot(schedule, slot, services, kind=kind)).job


def id_of_slot(schedule: Schedule, slot: datetime, services: Services, *, kind: str = "slot") -> JobId:
    partition = JobPartition(services.deployment.registry().code_of(schedule.job_type), _SHARD)
    return derive_job_id(slot, partition, "schedule", schedule.name, kind, to_text(slot))


# When it is told again: after a refusal, and once more after it has listened. A call takes 21 s at most, with retries.
TELL_AGAIN_AFTER = timedelta(minutes=5)
_MAX_ERROR_BYTES = 512


class MirrorError(LeaseholdError, code="mirror_failed"):
    """EventBridge did not take a schedule; it is in the table, and sent again."""


class ScheduleMirror(Protocol):
    """Wakes us at the slots of schedules. It is told after the table, and may be told anything twice."""

    def put(self, schedule: Schedule) -> None:
        """Wake at the slots of this schedule from now on, as far as that can be said; raise MirrorError if it fails."""

    def delete(self, name: str) -> None:
        """Wake no more; raise MirrorError if that fails. One that is not there is deleted already."""


def converge(schedule: Schedule, services: Services) -> Schedule | None:
    """The schedule as it is afterwards; None if it is gone, or waits for EventBridge to forget it."""
    tell_at = next_telling_at(schedule, services)
    if tell_at is None and schedule.retired:
        services.store.schedules.remove(schedule)
    if services.mirror is None or tell_at is None or tell_at > services.clock.now():
        return None if schedule.retired else schedule
    try:
        return _told(schedule, services.mirror, services)
    except ScheduleChanged:
        _make_up_for(schedule, services.mirror, services)
        raise


def next_telling_at(schedule: Schedule, services: Services) -> datetime | None:
    """When EventBridge is to be told of it; None if it knows, or nobody is to be told."""
    if services.mirror is None:
        return None
    return schedule.mirror_again_at if schedule.is_mirrored else services.clock.now()


def _told(schedule: Schedule, mirror: ScheduleMirror, services: Services) -> Schedule | None:
    now, store, is_the_second_time = services.clock.now(), services.store.schedules, schedule.is_mirrored
    try:
        if schedule.retired:
            mirror.delete(schedule.name)
        else:
            mirror.put(schedule)
    except MirrorError as error:
        now = services.clock.now()
        again_at: datetime | None = now + TELL_AGAIN_AFTER
        services.telemetry.event(Event.MIRROR_FAILED, schedule=schedule.name, error=str(error))
        noted = store.note_mirror_error(schedule, shortened(str(error), _MAX_ERROR_BYTES))
    else:
        if schedule.retired and is_the_second_time:
            store.remove(schedule)
            return None
        again_at = None if is_the_second_time else now + TELL_AGAIN_AFTER
        noted = store.note_mirror(schedule, again_at)
    if not noted.retired:
        return noted
    store.look_again(noted, again_at, now)
    return None


def _make_up_for(told: Schedule, mirror: ScheduleMirror, services: Services) -> None:
    """What we have told may have landed on top of what a newer version told."""
    current = services.store.schedules.get(told.name)
    if current is None:
        if not told.retired:
            mirror.delete(told.name)
    elif current.version != told.version:
        services.store.schedules.mirror_anew(told.name, services.clock.now())
