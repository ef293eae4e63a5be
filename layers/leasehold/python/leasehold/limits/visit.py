"""Visit: a scope is due, because a seat may be free or a stop may be over. Its lanes take turns.

A visit is a guest: it takes one page of jobs, then everybody else has a turn, then it goes on. Whose turn it is stands
in limits/turns.py, when a scope is looked at in limits/looks.py.
"""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, auto
from itertools import takewhile
from typing import TYPE_CHECKING

from leasehold.kernel.keys import Priority
from leasehold.kernel.type_options import type_scope
from leasehold.limits.admission import stop_of
from leasehold.limits.lanes import type_of_queue
from leasehold.limits.looks import A_PAGE, Looks
from leasehold.limits.model import is_group_scope, type_of_scope
from leasehold.limits.scopes import Lane, Scope
from leasehold.limits.seating import make_due

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.kernel.other_entries import DueScope
    from leasehold.kernel.registry import Switches
    from leasehold.limits.admission import Stop
    from leasehold.limits.gate import LimitsGate
    from leasehold.limits.model import Limit
    from leasehold.limits.scopes import LineEntry
    from leasehold.limits.turns import Visit

# So many lanes may be tried in vain on a page.
_LANES_TRIED = 10
_TRIES = 3
# A rate that has room again within this time is waited for where the lane stands.
_SHORTLY = timedelta(seconds=5)


class _Left(Enum):
    """How a lane was left that may go on, or whose scope cannot; others are passed by: empty, moved, or blocked."""

    MORE = auto()
    SCOPE_IS_FULL = auto()


class Visits:
    """The looks that one poll has taken, and has not finished yet."""

    def __init__(self, gate: LimitsGate) -> None:
        self._gate = gate
        self._services = gate.services
        self._admission = gate.admission
        self._claims = gate.poll.claims
        self._report = gate.poll.report
        self._may_go_on = gate.poll.may_go_on
        self.looks = Looks(gate.poll, gate.admission)
        self.open: list[Visit] = []

    def look_now(self, name: str, switches: Switches) -> None:
        """A seat was freed: look, whenever that is due, unless somebody began to look since this one knew of it."""
        seen = self.looks.when_left_alone(name)
        for _ in range(_TRIES):
            if seen is None or self.begin(name, seen, switches):
                return
            again = self._services.store.lines.seen(name)
            seen = again if again.is_looked_at and again.look == seen.look else None
        make_due([name], self._services)

    def go_on(self) -> bool:
        """One more page for each visit that is not over; True while there are any."""
        for visit in list(self.open):
            if not self._may_go_on():
                break
            switches = self._services.deployment.switches()
            if self._stop_of(visit.scope.name, switches) is not None:
                self.looks.put_off(visit, self._services.clock.now())  # whoever sees that parks it
                visit.is_over = True
            else:
                self._serve(visit, switches)
            if visit.is_over:
                self.open.remove(visit)
        return bool(self.open)

    def close(self) -> None:
        """Leave what is not over to the next poll, which finds it due."""
        for visit in self.open:
            self.looks.put_off(visit, self._services.clock.now(), place=visit.place)
        self.open.clear()

    def begin(self, name: str, due: DueScope | Scope, switches: Switches) -> bool:
        """Look at a scope that is due, or as it was seen. True if that is all: a look was taken and its first page
        served, or nobody who waits here may run.
        """
        stop = self._stop_of(name, switches)
        if stop is not None and not self._may_probe(name, stop):
            self.looks.wait_for(stop, name, due.due_key or "")
            return True
        looks = self.looks
        visit = looks.take_now(due) if isinstance(due, Scope) else looks.take(due, may_be_full=stop is None)
        if visit is None:
            return False
        self._report.looked += 1
        if stop is not None:
            self._send_probe(visit, stop)
            return True
        self._serve(visit, switches)
        if not visit.is_over:
            self.open.append(visit)
        return True

    def _stop_of(self, scope: str, switches: Switches) -> Stop | None:
        """Why nobody who waits for this scope may run."""
        name = type_of_scope(scope)
        return None if name is None else stop_of(name, switches, self._services)

    def _may_probe(self, scope: str, stop: Stop) -> bool:
        return self._admission.to_probe(type_of_scope(scope) or "", stop.circuit) is not None

    # --- one page

    def _serve(self, visit: Visit, switches: Switches) -> None:
        if not self.looks.renew(visit):
            visit.is_over = True
        elif is_group_scope(visit.scope.name):
            self._serve_group(visit, switches)
        else:
            self._serve_lanes(visit, switches)

    def _serve_lanes(self, visit: Visit, switches: Switches) -> None:
        report = self._report
        in_vain, before, others_at = 0, report.claimed, self._services.clock.now() + A_PAGE
        while True:
            is_served = in_vain == _LANES_TRIED or report.claimed - before >= self.looks.page_limit
            if is_served or self._services.clock.now() >= others_at or not self._may_go_on():
                return  # it goes on after the others
            entry = visit.next_lane()
            if entry is None:
                self.looks.end_served(visit)
                return
            claimed = report.claimed
            left = self._serve_lane(visit, entry, visit.jobs_of_turn(entry.lane), switches)
            if left is _Left.SCOPE_IS_FULL:
                self.looks.end_full(visit, entry.lane)
                return
            if left is _Left.MORE:
                visit.come_again(entry)
            in_vain += report.claimed == claimed

    def _serve_lane(self, visit: Visit, entry: LineEntry, count: int, switches: Switches) -> _Left | None:
        """Claim so many jobs of a lane, as far as there is room for them."""
        name = type_of_queue(entry.lane.queue)
        stop, limits = stop_of(name, switches, self._services), self._admission.limits_of_lane(entry.lane)
        if stop is not None:
            self._move(entry, type_scope(name), stop.until)
            return None
        if not limits:
            return self._serve_unlimited(visit, entry, count, switches)
        if entry.empty_since is not None:
            # Before anything else ends this turn: while it counts as empty, nobody who frees a seat thinks of it.
            job = visit.next_job(entry.lane)
            if job is None:
                self.looks.note_empty(entry)
                return None
            visit.put_back(job, entry.lane)
            self._keep_in_line(entry)
        for _ in range(count):
            full = self._admission.narrowest_full(limits, since=visit.began_at)
            if full is not None:
                return self._wait(visit, entry, full, limits)
            contended = self._contended(visit, limits)
            if contended is not None:
                self._move(entry, contended.scope, None, contended)
                return None
            job = visit.next_job(entry.lane)
            if job is None:
                self.looks.note_empty(entry)
                return None
            if self._admission.lane_of(job) != entry.lane:
                self._claims.offer(job, switches)  # what its type asks for has changed: it waits elsewhere, if at all
                self.looks.note_gone(job)
            elif not self._gate.claim(job, self._admission.admitted(job, limits)):
                visit.put_back(job, entry.lane)  # its seats are others' by now: look for others, in its turn
            else:
                self.looks.note_gone(job)
        return _Left.MORE

    def _serve_unlimited(self, visit: Visit, entry: LineEntry, count: int, switches: Switches) -> _Left | None:
        """A page of jobs that nothing holds back any more; plain ones are claimed at once."""
        jobs = list(visit.next_jobs(entry.lane, count))
        self._claims.at_once.take(jobs, switches)
        for job in jobs:
            if not self._may_go_on():
                break
            self._claims.offer(job, switches)
            visit.note_gone(job, entry.lane)
        self._claims.at_once.end_page()
        if not jobs:
            self.looks.note_empty(entry)
            return None
        self._keep_in_line(entry)
        # Nobody queues behind a lane that nothing limits: that it is empty now is noted by the next look.
        return _Left.MORE if len(jobs) == count else None

    def _keep_in_line(self, entry: LineEntry) -> None:
        """It had been found empty, and is not. Who freed a seat while nobody seemed to wait has started no poller."""
        if entry.empty_since is not None:
            self._admission.forget_line(entry.scope, entry.lane)
            self._admission.stand_in_line(entry.scope, entry.lane, self._services.clock.now())

    def _wait(self, visit: Visit, entry: LineEntry, full: Limit, limits: Sequence[Limit]) -> _Left | None:
        """Where the lane waits for a scope that is full: here, if it is looked at here when that has room again."""
        if full.scope == visit.scope.name:
            return _Left.SCOPE_IS_FULL
        free_at = self._admission.seats.plan(full).next_free_at
        if full.period is None:
            # Limits go from wide to narrow: whoever frees a seat of a narrower one frees one of this scope, too.
            is_freed_here_too = any(each.scope == visit.scope.name for each in limits[: limits.index(full)])
        else:
            is_freed_here_too = free_at is not None and free_at - self._services.clock.now() < _SHORTLY
        if not is_freed_here_too:
            self._move(entry, full.scope, free_at, full)
        elif free_at is not None:
            visit.room_at = min(free_at, visit.room_at or free_at)
        return None

    def _contended(self, visit: Visit, limits: Sequence[Limit]) -> Limit | None:
        """The narrowest wider limit that lanes wait for: this one has its turn among them, and not before."""
        wider = takewhile(lambda limit: limit.scope != visit.scope.name, limits)
        return self._admission.waited_for([each for each in wider if each.period is None], since=visit.began_at)

    def _move(self, entry: LineEntry, scope: str, look_at: datetime | None, full: Limit | None = None) -> None:
        """The lane waits for something else now: it stands in that line before it leaves this one."""
        if self._admission.stand_in_line(scope, entry.lane, look_at, since=entry.since):
            if full is not None:
                self._admission.nudge_if_free(scope, [full])
            self._services.store.lines.leave(entry)
            self._admission.forget_line(entry.scope, entry.lane)

    def _send_probe(self, visit: Visit, stop: Stop) -> None:
        """Let one job through an open circuit: of the first lane whose limits have room for it."""
        circuit = stop.circuit
        assert circuit is not None
        for _ in range(_LANES_TRIED):
            entry = visit.next_lane() if self._may_probe(visit.scope.name, stop) else None
            if entry is None:
                break
            job, limits = visit.next_job(entry.lane), self._admission.limits_of_lane(entry.lane)
            if job is None:
                self.looks.note_empty(entry)
            elif self._admission.narrowest_full(limits, since=visit.began_at) is None:
                self._gate.claim(job, self._admission.admitted(job, limits, circuit))
        # The next probe comes no sooner than that, whatever this one says.
        self.looks.put_off(visit, self._services.clock.now() + circuit.wait)

    def _serve_group(self, visit: Visit, switches: Switches) -> None:
        """The members of a new group may run: those that may not now go on to wait in their own lanes."""
        found = False
        for priority in sorted(Priority, reverse=True):
            lane = Lane(priority=priority, queue=visit.scope.name)
            for job in visit.next_jobs(lane, self.looks.page_limit):
                found = True
                if not self._may_go_on():
                    return
                self._claims.offer(job, switches)
        if not found:
            self.looks.end_served(visit)
