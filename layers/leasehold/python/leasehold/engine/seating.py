"""Seating: which seats a claim may take, as one poll knows them."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import JobStatus
from leasehold.domain.limits import Places
from leasehold.store.holds import Seat, Taking

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from leasehold.domain.ids import JobId
    from leasehold.domain.job import Job
    from leasehold.domain.job_type import JobType
    from leasehold.domain.limits import Limit
    from leasehold.engine.parts import Parts
    from leasehold.store.holds import ScopeState


@dataclass(slots=True)
class SeatPlan:
    """The seats of one scope that may be taken."""

    free: list[int] = field(default_factory=list)
    # Seats whose holder was seen to be gone: they may be taken over.
    abandoned: list[Seat] = field(default_factory=list)
    next_free_at: datetime | None = None
    # Where jobs wait already, a new one queues behind them.
    has_waiting: bool = False

    @property
    def is_full(self) -> bool:
        return not self.free and not self.abandoned


@dataclass(frozen=True, slots=True)
class Choice:
    """One seat of one scope, taken out of its plan."""

    limit: Limit
    number: int
    abandoned: Seat | None


class Seating:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._plans: dict[str, SeatPlan] = {}
        self._read: dict[str, ScopeState] = {}

    def plan(self, limit: Limit, *, fresh: bool = False) -> SeatPlan:
        if fresh or limit.scope not in self._plans:
            state = self._read.pop(limit.scope, None)
            if state is None or fresh:
                state = self._parts.store.holds.state(limit.scope)
            self._plans[limit.scope] = plan_seats(limit, state, self._parts)
        return self._plans[limit.scope]

    def remember(self, state: ScopeState) -> None:
        """Plan from this state when the scope's limit is known, instead of reading it again."""
        self.forget(state.scope)
        self._read[state.scope] = state

    def forget(self, scope: str) -> None:
        self._plans.pop(scope, None)
        self._read.pop(scope, None)

    def first_without_room(self, limits: Sequence[Limit], *, coming_from: str | None = None) -> Limit | None:
        """The first limit in which a job must wait.

        A job that comes from the hold lane of one limit queues behind others only in the limits after it: in those
        before it a free seat is enough. Else two limits could send it to and fro.
        """
        passed = next((number for number, limit in enumerate(limits) if limit.scope == coming_from), -1)
        for number, limit in enumerate(limits):
            plan = self.plan(limit)
            if plan.is_full or (plan.has_waiting and number > passed):
                return limit
        return None

    def choose(self, limits: Iterable[Limit]) -> list[Choice]:
        """One seat in each limit; every plan must have one."""
        choices = []
        for limit in limits:
            plan = self.plan(limit)
            abandoned = None if plan.free else plan.abandoned.pop()
            number = abandoned.number if abandoned else plan.free.pop(0)
            choices.append(Choice(limit, number, abandoned))
        return choices

    def note_taken(self, choices: Iterable[Choice], job_type: JobType) -> None:
        """A seat that this poll took is free again at its end, too."""
        now = self._parts.clock.now()
        for choice in choices:
            plan = self.plan(choice.limit)
            until = now + (choice.limit.period or job_type.longest_hold)
            plan.next_free_at = min(plan.next_free_at or until, until)

    def put_back(self, choices: Iterable[Choice]) -> None:
        for choice in choices:
            plan = self.plan(choice.limit)
            if choice.abandoned is not None:
                plan.abandoned.append(choice.abandoned)
            else:
                plan.free.insert(0, choice.number)


def takings_of(
    choices: Sequence[Choice], job_id: JobId, job_type: JobType, taken_by: str, now: datetime
) -> list[Taking]:
    return [
        Taking(
            Seat(
                scope=choice.limit.scope,
                number=choice.number,
                taken_by=taken_by,
                held_until=now + (choice.limit.period or job_type.longest_hold),
                job_id=None if choice.limit.period else job_id,
            ),
            choice.abandoned,
        )
        for choice in choices
    ]


def places_of(choices: Sequence[Choice], taken_by: str) -> str | None:
    """What the job keeps to give back at its end; a seat that time frees is not part of it."""
    seats = tuple((each.limit.scope, each.number) for each in choices if each.limit.period is None)
    return Places(taken_by, seats).text if seats else None


def plan_seats(limit: Limit, state: ScopeState, parts: Parts) -> SeatPlan:
    now = parts.clock.now()
    taken = {number: seat for number, seat in state.seats.items() if number < limit.seats}
    overdue = [seat for seat in taken.values() if seat.held_until <= now]
    return SeatPlan(
        free=[number for number in range(limit.seats) if number not in taken],
        abandoned=_without_holder(overdue, parts) if overdue else [],
        next_free_at=min((seat.held_until for seat in taken.values() if seat.held_until > now), default=None),
        has_waiting=state.is_waiting and state.empty_checks == 0,
    )


def _without_holder(seats: Sequence[Seat], parts: Parts) -> list[Seat]:
    holders = parts.store.jobs.get_many([seat.job_id for seat in seats if seat.job_id is not None])
    return [seat for seat in seats if seat.job_id is None or not _is_held_by(seat, holders.get(seat.job_id))]


def _is_held_by(seat: Seat, job: Job | None) -> bool:
    if job is None or job.status is not JobStatus.IN_PROGRESS or job.seat is None:
        return False
    return Places.parse(job.seat).taken_by == seat.taken_by
