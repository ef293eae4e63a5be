"""The next slot of a job type: a direct run reserves it, waits until nothing of the type runs, and gives it back.

The reservation keeps pollers from claiming and handlers from starting. They see it within the time for which switches
are cached. Of a type with a concurrency limit the seats are taken too, by the same conditional writes as claims: then
nobody can claim, whatever it has seen. Both are over at a time of their own, should this process die.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.direct_runs.model import DirectRunTimeoutError, Reservation, over_by
from leasehold.kernel.errors import StoreError
from leasehold.kernel.lanes import lanes_by_priority
from leasehold.kernel.registry import CACHE_FOR
from leasehold.kernel.trust import is_trusted
from leasehold.kernel.type_options import CLOCK_TOLERANCE, type_scope
from leasehold.limits.model import Limit
from leasehold.limits.scopes import Seat
from leasehold.limits.seating import plan_seats
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.services import Services

# When every poller and every handler knows of a reservation, and the index of every claim made before it.
NOTICED_AFTER = CACHE_FOR + timedelta(seconds=1)

_FIRST_PAUSE = timedelta(milliseconds=100)
_LONGEST_PAUSE = timedelta(seconds=2)


class NextSlot:
    def __init__(self, job_type: JobType, run_id: str, services: Services, *, timeout: timedelta) -> None:
        self._job_type = job_type
        self._run_id = run_id
        self._services = services
        self._timeout = timeout
        self._give_up_at = services.clock.now() + timeout
        self._seats: set[int] = set()
        # When everything that is taken here is over by itself.
        self.until = over_by(self._give_up_at, job_type)

    def reserve(self) -> None:
        """Become the next; who is it already is waited for."""
        self._wait_for(self._what_is_reserved)
        now = self._services.clock.now()
        self._services.telemetry.event(
            Event.DIRECT_RUN_RESERVED, run_id=self._run_id, job_type=self._job_type.name, until=self.until.isoformat()
        )
        if self._job_type.concurrency is None:
            while (left := now + NOTICED_AFTER - self._services.clock.now()) > timedelta(0):
                self._sleep(left, "every poller and handler to know of it")

    def clear(self) -> None:
        """Wait until no job of the type is in progress. None is interrupted, and none begins."""
        if self._job_type.concurrency is not None:
            self._wait_for(self._what_is_seated)
        # Those too that have no seat: they were claimed when there was no limit.
        for level in lanes_by_priority(self._services.deployment.registry().shards):
            for lane in level:
                self._wait_for(partial(self._what_is_leased, lane))

    def give_back(self) -> None:
        """Let jobs run again: those that were held are looked at now. What this cannot give back, time does."""
        scope, store = type_scope(self._job_type.name), self._services.store
        try:
            for number in sorted(self._seats):
                store.lines.free(scope, number, self._run_id)
            # After the seats: whoever is woken by the end of the reservation finds them free.
            is_waited_for = store.lines.scope(scope).exists
            now = self._services.clock.now()
            shards = self._services.deployment.registry().shards
            store.reservations.lift(self._job_type.name, self._run_id, now, is_waited_for=is_waited_for, shards=shards)
        except StoreError as error:
            until, log = self.until.isoformat(), self._services.telemetry.event
            log(Event.TIDY_FAILED, run_id=self._run_id, what="reservation", error=str(error), until=until)
        self._services.deployment.forget()

    def _what_is_reserved(self) -> str | None:
        now = self._services.clock.now()
        wanted = Reservation(run_id=self._run_id, since=now, until=self.until)
        other = self._services.store.reservations.make(self._job_type.name, wanted, now)
        return None if other is None else f"another direct run, {other.run_id}"

    def _what_is_seated(self) -> str | None:
        """Take every seat that is free, beyond the limit too where it was higher once."""
        scope = type_scope(self._job_type.name)
        state = self._services.store.lines.scope(scope)
        limit = max(self._job_type.concurrency or 0, *(number + 1 for number in state.seats), 1)
        plan = plan_seats(Limit(scope=scope, seats=limit), state, self._services)
        gone = {seat.number: seat for seat in plan.abandoned}
        refused = [number for number in (*plan.free, *gone) if not self._take(number, gone.get(number))]
        others = [seat for number, seat in state.seats.items() if number not in gone and seat.taken_by != self._run_id]
        if not others and not refused:
            return None
        jobs = ", ".join(str(seat.job_id or seat.taken_by) for seat in others) or "those that took the last free seats"
        return f"jobs in progress: {jobs}"

    def _take(self, number: int, gone: Seat | None) -> bool:
        now = self._services.clock.now()
        seat = Seat(
            scope=type_scope(self._job_type.name),
            number=number,
            taken_by=self._run_id,
            taken_at=now,
            held_until=self.until,
        )
        # Noted first: if the store does not answer, the seat may be ours nevertheless.
        self._seats.add(number)
        if self._services.store.lines.take(seat, gone):
            return True
        self._seats.discard(number)
        return False

    def _what_is_leased(self, lane: str) -> str | None:
        now = self._services.clock.now()
        latest = now + self._job_type.longest_hold + CLOCK_TOLERANCE
        found = self._services.store.reservations.leases(self._job_type.name, lane, now - CLOCK_TOLERANCE, latest)
        entry = next((each for each in found if is_trusted(each.job_id, each.job_type, self._services)), None)
        return None if entry is None else f"job {entry.job_id}, which is in progress"

    def _wait_for(self, find: Callable[[], str | None]) -> None:
        """Look, in pauses that grow, until nothing stands in the way."""
        pause = _FIRST_PAUSE
        while (found := find()) is not None:
            self._sleep(pause, found)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _sleep(self, pause: timedelta, waited_for: str) -> None:
        left = self._give_up_at - self._services.clock.now()
        if left <= timedelta(0):
            raise DirectRunTimeoutError(self._job_type.name, self._timeout, waited_for)
        self._services.clock.sleep(min(pause, left))
