"""Admit: whether a due job may run now; if not, where it waits without being in anyone's way."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.due import hold_lane
from leasehold.domain.job_type import type_scope
from leasehold.domain.lifecycle import HOLD, JobStatus, Write
from leasehold.engine.ports import make_stamp
from leasehold.engine.telemetry import Event
from leasehold.store.jobs import TransitionRefused

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.control import Switches
    from leasehold.domain.job_type import JobType
    from leasehold.engine.parts import Parts
    from leasehold.store.holds import ScopeState, Seat
    from leasehold.store.jobs import DueJob

# How soon a scope with waiting jobs is looked at again when nothing wakes it before.
LOOK_AGAIN_AFTER = timedelta(minutes=1)
# After held jobs were admitted, their lane is looked at once more before it is called empty.
LOOK_SHORTLY_AFTER = timedelta(seconds=1)
# The hold lane is read from an index, which may lag: a lane that looks empty is looked at again before it is believed.
EMPTY_LANE_CHECKS = (timedelta(minutes=1), timedelta(hours=1))
_TRIES = 3


@dataclass
class SeatPlan:
    """The seats of one scope as one poll knows them."""

    free: list[int] = field(default_factory=list)
    # Seats whose holder was seen to be gone: they may be taken over.
    abandoned: list[Seat] = field(default_factory=list)
    next_free_at: datetime | None = None

    @property
    def is_full(self) -> bool:
        return not self.free and not self.abandoned


def is_stopped(job_type: str, switches: Switches, parts: Parts) -> str | None:
    """Why no job of this type may run, or None."""
    if job_type in switches.pauses:
        return "paused"
    # Before a job waits for a deployment, make sure that it has not just happened: the registry is cached.
    if job_type not in parts.deployment.registry().types and (
        job_type not in parts.deployment.registry(fresh=True).types
    ):
        return "not deployed"
    return None


def expect_held(scope: str, parts: Parts) -> bool:
    """Give a scope its due entry before the first job is held in it.

    A crash in between leaves a scope that is looked at for nothing, never a job that nobody looks at.
    """
    for _ in range(_TRIES):
        state = parts.store.holds.state(scope)
        if state.is_waiting and state.due_key is not None and state.empty_checks == 0:
            return True
        now = parts.clock.now()
        if parts.store.holds.expect(state, now + LOOK_AGAIN_AFTER, now, stamp=make_stamp(parts.chance)):
            return True
    return False


def hold(entry: DueJob, why: str, parts: Parts) -> bool:
    """Move a due job out of its lane, once, until its scope may run again."""
    scope = type_scope(entry.job_type)
    try:
        parts.store.jobs.advance(
            Write(
                job_id=entry.job_id,
                transition=HOLD,
                seen={"due_key": entry.due_key},
                values={"due_lane": hold_lane(scope)},
            )
        )
    except TransitionRefused:
        return False
    parts.telemetry.event(Event.JOB_HELD, job_id=entry.job_id, job_type=entry.job_type, reason=why)
    return True


def plan_seats(job_type: JobType, state: ScopeState, parts: Parts) -> SeatPlan:
    """Which seats of a limited type a claim may take."""
    limit = job_type.concurrency or 0
    now = parts.clock.now()
    taken = {number: seat for number, seat in state.seats.items() if number < limit}
    plan = SeatPlan(free=[number for number in range(limit) if number not in taken])
    overdue = [seat for seat in taken.values() if seat.held_until <= now]
    if overdue:
        holders = parts.store.jobs.get_many([seat.job_id for seat in overdue])
        for seat in overdue:
            job = holders.get(seat.job_id)
            if job is None or job.status is not JobStatus.IN_PROGRESS or job.seat != seat.reference:
                plan.abandoned.append(seat)
    later = [seat.held_until for seat in taken.values() if seat.held_until > now]
    plan.next_free_at = min(later, default=None)
    return plan
