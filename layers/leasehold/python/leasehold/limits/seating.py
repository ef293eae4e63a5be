"""Seats: which seats of its limits a claim may take, as one poll knows them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.errors import DispatchError
from leasehold.kernel.hooks import Hooks
from leasehold.kernel.transitions import JobStatus
from leasehold.lean import dataclass
from leasehold.limits.lines import Moment
from leasehold.limits.model import Places
from leasehold.limits.scopes import Seat, taking
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from leasehold.kernel.end import Ending
    from leasehold.kernel.job import Job
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Put
    from leasehold.limits.model import Limit
    from leasehold.limits.scopes import Scope, Turn


# What a poll remembers may be forgotten by everybody else after this: see limits/lines.py.
TRUSTED_FOR = timedelta(seconds=30)


@dataclass(slots=True)
class SeatPlan:
    """The seats of one scope that may be taken."""

    read_at: datetime
    free: list[int]
    # Seats whose holder was seen to be gone: they may be taken over.
    abandoned: list[Seat]
    # How many of these the limit has room for: it may have been higher once.
    room: int
    next_free_at: datetime | None
    # Where lanes wait already, a new job queues behind them.
    is_waited_for: bool

    @property
    def is_full(self) -> bool:
        return self.room <= 0 or not (self.free or self.abandoned)


@dataclass(frozen=True, slots=True)
class Choice:
    """One seat of one scope, taken out of its plan."""

    limit: Limit
    plan: SeatPlan
    number: int
    abandoned: Seat | None

    def taken(self, handover: Handover, job_type: JobType, turn: Turn) -> Put:
        seat = Seat(
            scope=self.limit.scope,
            number=self.number,
            taken_by=handover.token,
            taken_at=turn.at,
            held_until=self._held_until(turn.at, job_type),
            job_id=None if self.limit.period else handover.job_id,
            turn=turn,
        )
        return taking(seat, self.abandoned)

    def note_taken(self, now: datetime, job_type: JobType) -> None:
        """A seat that this poll took is free again at its end, too."""
        until = self._held_until(now, job_type)
        self.plan.next_free_at = min(self.plan.next_free_at or until, until)

    def put_back(self) -> None:
        self.plan.room += 1
        if self.abandoned is not None:
            self.plan.abandoned.append(self.abandoned)
        else:
            self.plan.free.insert(0, self.number)

    def _held_until(self, now: datetime, job_type: JobType) -> datetime:
        return now + (self.limit.period or job_type.longest_hold)


class Seats:
    """What one poll knows of seats. It reads a scope again after a while, and whenever that matters."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._plans: dict[str, SeatPlan] = {}

    def plan(self, limit: Limit, *, since: datetime | None = None) -> SeatPlan:
        """As it was read `since` then, or within the time for which that is trusted."""
        now = self._services.clock.now()
        known = self._plans.get(limit.scope)
        if known is None or not timedelta(0) <= now - known.read_at < TRUSTED_FOR or (since and known.read_at < since):
            known = self._plans[limit.scope] = read_plan(limit, self._services)
        return known

    def remember(self, limit: Limit, scope: Scope) -> SeatPlan:
        """Plan from a scope that was just read."""
        plan = self._plans[limit.scope] = plan_seats(limit, scope, self._services)
        return plan

    def forget(self, scope: str) -> None:
        self._plans.pop(scope, None)

    def note_waited_for(self, scope: str) -> None:
        if scope in self._plans:
            self._plans[scope].is_waited_for = True

    def choose(self, limits: Iterable[Limit]) -> list[Choice]:
        """One seat in each limit; every plan must have one, as it was looked at. What is newer, the claim finds out."""
        choices = []
        for limit in limits:
            plan = self._plans.get(limit.scope) or self.plan(limit)
            abandoned = None if plan.free else plan.abandoned.pop()
            plan.room -= 1
            choices.append(Choice(limit, plan, abandoned.number if abandoned else plan.free.pop(0), abandoned))
        return choices


def read_plan(limit: Limit, services: Services) -> SeatPlan:
    return plan_seats(limit, services.store.lines.scope(limit.scope), services)


def plan_seats(limit: Limit, scope: Scope, services: Services) -> SeatPlan:
    now = services.clock.now()
    abandoned = _without_holder([seat for seat in scope.seats.values() if seat.held_until <= now], services)
    held = scope.seats.keys() - {seat.number for seat in abandoned}
    return SeatPlan(
        read_at=now,
        free=[number for number in range(limit.seats) if number not in scope.seats],
        abandoned=[seat for seat in abandoned if seat.number < limit.seats],
        room=limit.seats - len(held),
        next_free_at=min((seat.held_until for seat in scope.seats.values() if seat.held_until > now), default=None),
        is_waited_for=scope.is_waited_for,
    )


def places_of(choices: Sequence[Choice], taken_by: str) -> str | None:
    """What the job keeps to give back at its end; a seat that time frees is not part of it."""
    seats = tuple((each.limit.scope, each.number) for each in choices if each.limit.period is None)
    return Places(taken_by, seats).text if seats else None


def _without_holder(overdue: Sequence[Seat], services: Services) -> list[Seat]:
    if not overdue:
        return []
    holders = services.store.jobs.get_many([seat.job_id for seat in overdue if seat.job_id is not None])
    return [seat for seat in overdue if seat.job_id is None or not _is_held_by(seat, holders.get(seat.job_id))]


def _is_held_by(seat: Seat, job: Job | None) -> bool:
    if job is None or job.status is not JobStatus.IN_PROGRESS or job.seat is None:
        return False
    return Places.parse(job.seat).taken_by == seat.taken_by


class SeatHooks(Hooks):
    def after(self, end: Ending, services: Services) -> None:
        assert end.job.seat is not None  # whom this feature concerns
        if not _may_still_run(end):
            free_seats(Places.parse(end.job.seat), services)


def free_seats(places: Places, services: Services) -> None:
    """Free these seats, then have each scope looked at in which somebody waits: by a poller that is started for it.

    Where none can be started the scope is made due, which costs three write units. Should a poller that was started be
    lost, the scope is looked at by the time that its last look has set: at the end of a seat at the latest.
    """
    lines = services.store.lines
    freed = [scope for scope, number in places.seats if lines.free(scope, number, places.taken_by)]
    freed.reverse()
    if services.waker is not None:
        freed = [scope for scope in freed if lines.seen(scope).is_looked_at]
        try:
            if freed:
                services.waker(freed)
            return
        except DispatchError as error:
            services.telemetry.event(Event.TIDY_FAILED, what="wake", error=str(error))
    make_due(freed, services)


def make_due(scopes: Iterable[str], services: Services) -> None:
    """Have these scopes looked at by the next poll, because a seat is free in them."""
    for scope in scopes:
        services.store.lines.nudge(scope, Moment.of(services))


def _may_still_run(end: Ending) -> bool:
    """A handler that lost its lease early may still be at work: the limit counts it until its full time is over.

    One that had not started never will: its lease is another's by now.
    """
    if not end.is_orphan or end.job.started_at is None:
        return False
    return end.job.locked_at is not None and end.at < end.job.locked_at + end.job_type.longest_hold
