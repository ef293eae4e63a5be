"""Visit: a scope is due, because a seat may be free or a stop may be over. Its lanes take turns.

A visit is a guest: it takes one page of jobs, then everybody else has a turn, then it goes on. Its look at the scope
was taken by a conditional write, so others leave the scope alone meanwhile; if this poll dies, the look comes again.

The lanes of the highest priority go first, and at a stated share of looks those of the lowest. Among the lanes of a
priority the next is the one behind whoever was given a seat last, which the seats remember. It may take as many as its
weight before the next has its turn; alone, as many as there is room for.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field, replace
from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, cast

from leasehold.kernel.admission import trusted_jobs
from leasehold.kernel.claim import Outcome
from leasehold.kernel.due import Due, Priority, creation_of, is_asked_for, type_of_queue
from leasehold.kernel.jobs import DueScope
from leasehold.kernel.lean import dataclass
from leasehold.kernel.type_options import type_scope
from leasehold.limits.admission import FIRST_LOOK_AFTER, LAST_LOOK_AFTER, stop_of, together
from leasehold.limits.lines import EMPTY_FOR, Lane, Scope, Turn, first_of
from leasehold.limits.model import is_group_scope, type_of_scope, weight_of
from leasehold.limits.seating import make_due

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.kernel.claim import Claims
    from leasehold.kernel.jobs import DueJob
    from leasehold.kernel.registry import Switches
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record
    from leasehold.limits.admission import Admission, Stop
    from leasehold.limits.lines import LineEntry
    from leasehold.limits.model import Limit
    from leasehold.limits.seating import SeatPlan

# So many lanes may be tried in vain on a page; so much of a line is read at once.
_LANES_TRIED = 10
_LINE_READ = 40
_A_PAGE = timedelta(milliseconds=500)
_A_LOOK = timedelta(milliseconds=80)
_TRIES = 3
# A lane that looks empty is looked at again when every index has caught up, and leaves its line after EMPTY_FOR.
_LOOK_SHORTLY_AFTER = timedelta(seconds=2)
# A rate that has room again within this time is waited for where the lane stands.
_SHORTLY = timedelta(seconds=5)
_RENEWED_BEFORE = timedelta(seconds=20)
# For so long an index may show a job that has left its lane: mostly, and at the worst.
_STALE_FOR = timedelta(seconds=2)
_INDEX_LAGS = timedelta(seconds=30)


class _Left(Enum):
    """How a lane was left."""

    MORE = auto()
    EMPTY = auto()
    MOVED = auto()
    # It waits for something else, and is looked at in this line when that is over.
    BLOCKED = auto()
    SCOPE_IS_FULL = auto()


@dataclass(slots=True)
class _Round:
    """The lanes of one priority, in turn: those to come, those that have had a turn, and those not read yet."""

    turn: deque[LineEntry] = field(default_factory=deque)
    again: list[LineEntry] = field(default_factory=list)
    unread: deque[tuple[str, str]] = field(default_factory=deque)


@dataclass(slots=True)
class _Visit:
    scope: Scope
    began_at: datetime
    next_look_at: datetime
    rounds: deque[_Round] | None = None
    # What was read of the lanes and not served yet, and where the next page of each begins.
    read: dict[Lane, deque[DueJob]] = field(default_factory=dict)
    cursors: dict[Lane, Record | None] = field(default_factory=dict)
    # The lane that was served last, and what was taken from it without a seat that would remember it.
    place: Lane | None = None
    taken: dict[Lane, str] = field(default_factory=dict)
    # When the first of those that stay in line may go on.
    room_at: datetime | None = None
    is_over: bool = False


class Visits:
    """The looks that one poll has taken, and has not finished yet."""

    def __init__(
        self,
        services: Services,
        admission: Admission,
        claims: Claims,
        *,
        page_limit: int,
        lower_share: float,
        may_go_on: Callable[[], bool],
    ) -> None:
        self._services = services
        self._admission = admission
        self._claims = claims
        self._page_limit = page_limit
        self._lower_share = lower_share
        self._may_go_on = may_go_on
        self._open: list[_Visit] = []
        self._in_vain: list[tuple[DueScope, datetime]] = []
        # What this poll has taken out of its lane, until no index shows it there any longer.
        self._gone: dict[str, datetime] = {}

    def begin(self, entry: DueScope, switches: Switches) -> None:
        """Take the look that is due, and serve the first page."""
        stop = self._stop_of(entry.scope, switches)
        if stop is not None and not self._may_probe(entry.scope, stop):
            self._wait_for(stop, entry)
            return
        now = self._services.clock.now()
        next_at = self._next_look_at(entry.due_key, now)
        if stop is None and not is_asked_for(entry.due_key) and self._is_still_full(entry.scope, next_at):
            self._in_vain.append((entry, next_at))
            return
        scope = self._take_look(entry.scope, entry.due_key, next_at, now)
        # Else somebody touched it since the index saw it: its new entry will be seen.
        if scope is not None:
            self._visit(_Visit(scope=scope, began_at=now, next_look_at=next_at), stop, switches)

    def look_now(self, name: str, switches: Switches) -> None:
        """A seat was freed: look, whenever that is due, unless somebody began to look since this one knew of it."""
        lines, seen = self._services.store.lines, self._when_left_alone(name)
        for _ in range(_TRIES):
            if seen is None:
                return
            due_key, look = cast("str", seen.due_key), seen.look
            stop = self._stop_of(name, switches)
            if stop is not None and not self._may_probe(name, stop):
                self._wait_for(stop, DueScope(scope=name, due_key=due_key))
                return
            now, next_at = self._services.clock.now(), Due.parse(due_key).at
            if next_at - now >= _RENEWED_BEFORE:
                scope = lines.look_now(seen, now, stamp=self._admission.stamp())
            else:
                next_at = self._next_look_at(due_key, now)
                scope = self._take_look(name, due_key, next_at, now)
            if scope is not None:
                self._visit(_Visit(scope=scope, began_at=now, next_look_at=next_at), stop, switches)
                return
            again = lines.seen(name)
            seen = again if again.is_looked_at and again.look == look else None
        now = self._services.clock.now()
        lines.nudge(name, now, stamp=self._admission.stamp(), shards=self._admission.shards)

    def look_later(self, name: str) -> None:
        make_due([name], self._services)

    def _when_left_alone(self, name: str) -> Scope | None:
        """The scope once nobody else is at it; None where that leaves nothing to do.

        Who comes right behind another would meet it at the same jobs, and one of them would pay for nothing. So it
        waits while the other gives seats away, which mostly takes the one that this was to look for.
        """
        clock = self._services.clock
        first, until = None, clock.now() + _A_PAGE
        while True:
            scope, entries, _ = self._services.store.lines.line(name, limit=_LINE_READ)
            first = first or scope
            if not scope.is_looked_at or scope.look != first.look or self._is_full(scope, entries):
                return None
            now, steps = clock.now(), [turn.at for turn in scope.turns[:1]]
            since = now - max([*steps, creation_of(scope.look)] if scope.look else steps, default=now - _A_LOOK)
            if now >= until or not timedelta(0) <= since < _A_LOOK:
                return scope
            clock.sleep(_A_LOOK - since)

    def _is_full(self, scope: Scope, entries: Sequence[LineEntry]) -> bool:
        """Whether nothing could go on before the next look that is due."""
        due_at = Due.parse(cast("str", scope.due_key)).at
        plan = self._plan(scope, entries)
        return plan is not None and plan.is_full and (plan.next_free_at is None or plan.next_free_at >= due_at)

    def _take_look(self, name: str, due_key: str, next_at: datetime, now: datetime) -> Scope | None:
        stamp, shards = self._admission.stamp(), self._admission.shards
        return self._services.store.lines.take_look(name, due_key, next_at, now, stamp=stamp, shards=shards)

    def _visit(self, visit: _Visit, stop: Stop | None, switches: Switches) -> None:
        self._claims.report.looked += 1
        if stop is not None:
            self._send_probe(visit, stop)
            return
        self._serve(visit, switches)
        if not visit.is_over:
            self._open.append(visit)

    def _stop_of(self, scope: str, switches: Switches) -> Stop | None:
        """Why nobody who waits for this scope may run."""
        name = type_of_scope(scope)
        return None if name is None else stop_of(name, switches, self._services)

    def _may_probe(self, scope: str, stop: Stop) -> bool:
        return self._admission.probes.due(type_of_scope(scope) or "", stop.circuit) is not None

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def _is_still_full(self, name: str, next_at: datetime) -> bool:
        """Whether a look that came by time alone finds nothing that could go on before the next."""
        scope, entries, _ = self._services.store.lines.line(name, limit=_LINE_READ)
        plan = self._plan(scope, entries)
        return plan is not None and plan.is_full and (plan.next_free_at is None or plan.next_free_at >= next_at)

    def _plan(self, scope: Scope, entries: Sequence[LineEntry]) -> SeatPlan | None:
        """The seats of a scope that was just read; None where a lane may be empty, which a look has to find out."""
        limits = self._admission.limits_of_lane(entries[0].lane) if entries else ()
        limit = next((each for each in limits if each.scope == scope.name), None)
        if limit is None or any(entry.empty_since is not None for entry in entries):
            return None
        return self._admission.seats.remember(limit, scope)

    def after_page(self) -> None:
        """Put the looks off that were in vain: many by one request. One that somebody asked for since stays due."""
        in_vain, self._in_vain = self._in_vain, []
        if in_vain:
            now, shards = self._services.clock.now(), self._admission.shards
            looks = [(entry.scope, entry.due_key, next_at) for entry, next_at in in_vain]
            self._services.store.lines.put_off(looks, now, stamp=self._admission.stamp(), shards=shards)
            self._claims.report.looked += len(in_vain)

    def go_on(self) -> bool:
        """One more page for each visit that is not over; True while there are any."""
        for visit in list(self._open):
            if not self._may_go_on():
                break
            switches = self._services.deployment.switches()
            if self._stop_of(visit.scope.name, switches) is not None:
                self._put_off(visit, self._services.clock.now())  # whoever sees that parks it
                visit.is_over = True
            else:
                self._serve(visit, switches)
            if visit.is_over:
                self._open.remove(visit)
        return bool(self._open)

    def close(self) -> None:
        """Leave what is not over to the next poll, which finds it due."""
        for visit in self._open:
            now, place = self._services.clock.now(), visit.place
            turn = None if place is None else Turn(place, now, visit.taken.get(place, ""))
            self._put_off(visit, now, place=turn)
        self._open.clear()

    def _serve(self, visit: _Visit, switches: Switches) -> None:
        """One page of a visit."""
        now = self._services.clock.now()
        if visit.next_look_at - now < _RENEWED_BEFORE and not self._put_off(visit, now + FIRST_LOOK_AFTER):
            visit.is_over = True  # somebody touched it, and will look
        elif is_group_scope(visit.scope.name):
            self._serve_group(visit, switches)
        else:
            self._serve_lanes(visit, switches)

    def _serve_lanes(self, visit: _Visit, switches: Switches) -> None:
        report, rounds = self._claims.report, self._rounds(visit)
        in_vain, before, others_at = 0, report.claimed, self._services.clock.now() + _A_PAGE
        while rounds:
            is_served = in_vain == _LANES_TRIED or report.claimed - before >= self._page_limit
            if is_served or self._services.clock.now() >= others_at or not self._may_go_on():
                return  # it goes on after the others
            entry = self._next_in_turn(visit, rounds[0])
            if entry is None:
                rounds.popleft()
                continue
            visit.place = entry.lane
            is_alone = not (rounds[0].turn or rounds[0].again or rounds[0].unread)
            claimed = report.claimed
            count = self._page_limit if is_alone else self._weight(visit.scope, entry.lane)
            match self._serve_lane(visit, entry, count, switches):
                case _Left.SCOPE_IS_FULL:
                    self._end_full(visit, entry.lane)
                    return
                case _Left.MORE:
                    rounds[0].again.append(entry)
                case _Left.EMPTY | _Left.MOVED | _Left.BLOCKED:
                    pass
            in_vain += report.claimed == claimed
        self._end_served(visit)

    def _serve_lane(self, visit: _Visit, entry: LineEntry, count: int, switches: Switches) -> _Left:
        """Claim so many jobs of a lane, as far as there is room for them."""
        name = type_of_queue(entry.lane.queue)
        stop, limits = stop_of(name, switches, self._services), self._admission.limits_of_lane(entry.lane)
        if stop is not None:
            return self._move(entry, type_scope(name), stop.until)
        if not limits:
            return self._serve_unlimited(visit, entry, count, switches)
        for _ in range(count):
            full = self._admission.narrowest_full(limits, since=visit.began_at)
            if full is not None:
                return self._wait(visit, entry, full, limits)
            contended = self._contended(visit, limits)
            if contended is not None:
                return self._move(entry, contended.scope, None, contended)
            job = self._next_job(visit, entry.lane)
            if job is None:
                self._note_empty(entry)
                return _Left.EMPTY
            if self._admission.lane_of(job) != entry.lane:
                self._claims.offer(job, switches)  # what its type asks for has changed: it waits elsewhere, if at all
                self._gone[job.due_key] = self._services.clock.now()
                continue
            if self._claims.claim(job, self._admission.admitted(job, limits)) is Outcome.CHANGED:
                visit.read[entry.lane].appendleft(job)  # its seats are others' by now: look for others, in its turn
            else:
                self._gone[job.due_key] = self._services.clock.now()
        self._keep_in_line(entry)
        return _Left.MORE

    def _serve_unlimited(self, visit: _Visit, entry: LineEntry, count: int, switches: Switches) -> _Left:
        """A page of jobs that nothing holds back any more; plain ones are claimed at once."""
        found = (self._next_job(visit, entry.lane) for _ in range(count))
        jobs = [job for job in found if job is not None]
        self._claims.take_ahead(jobs, switches)
        for job in jobs:
            if not self._may_go_on():
                break
            self._claims.offer(job, switches)
            self._gone[job.due_key] = self._services.clock.now()
            visit.taken[entry.lane] = job.due_key
        self._claims.end_page()
        if not jobs:
            self._note_empty(entry)
            return _Left.EMPTY
        self._keep_in_line(entry)
        # Nobody queues behind a lane that nothing limits: that it is empty now is noted by the next look.
        return _Left.MORE if len(jobs) == count else _Left.EMPTY

    def _keep_in_line(self, entry: LineEntry) -> None:
        """It had been found empty, and is not. Who freed a seat while nobody seemed to wait has started no poller."""
        if entry.empty_since is not None:
            self._admission.forget_line(entry.scope, entry.lane)
            self._admission.stand_in_line(entry.scope, entry.lane, self._services.clock.now())

    def _wait(self, visit: _Visit, entry: LineEntry, full: Limit, limits: Sequence[Limit]) -> _Left:
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
            return self._move(entry, full.scope, free_at, full)
        if free_at is not None:
            visit.room_at = min(free_at, visit.room_at or free_at)
        return _Left.BLOCKED

    def _contended(self, visit: _Visit, limits: Sequence[Limit]) -> Limit | None:
        """The narrowest wider limit that lanes wait for: this one has its turn among them, and not before."""
        at = next((at for at, limit in enumerate(limits) if limit.scope == visit.scope.name), len(limits))
        wider = (limit for limit in reversed(limits[:at]) if limit.period is None)
        return next(
            (limit for limit in wider if self._admission.seats.plan(limit, since=visit.began_at).is_waited_for), None
        )

    def _move(self, entry: LineEntry, scope: str, look_at: datetime | None, full: Limit | None = None) -> _Left:
        """The lane waits for something else now: it stands in that line before it leaves this one."""
        if self._admission.stand_in_line(scope, entry.lane, look_at, since=entry.since):
            if full is not None:
                self._admission.nudge_if_free(scope, [full])
            self._services.store.lines.leave(entry)
            self._admission.forget_line(entry.scope, entry.lane)
        return _Left.MOVED

    def _send_probe(self, visit: _Visit, stop: Stop) -> None:
        """Let one job through an open circuit: of the first lane whose limits have room for it."""
        job_type = type_of_scope(visit.scope.name)
        assert job_type is not None
        assert stop.circuit is not None
        rounds, tried = self._rounds(visit), 0
        while rounds and tried < _LANES_TRIED and self._admission.probes.due(job_type, stop.circuit) is not None:
            entry = self._next_in_turn(visit, rounds[0])
            if entry is None:
                rounds.popleft()
                continue
            tried += 1
            job, limits = self._next_job(visit, entry.lane), self._admission.limits_of_lane(entry.lane)
            if job is None:
                self._note_empty(entry)
            elif self._admission.narrowest_full(limits, since=visit.began_at) is None:
                self._claims.claim(job, self._admission.admitted(job, limits, stop.circuit))
        # The next probe comes no sooner than that, whatever this one says.
        self._put_off(visit, self._services.clock.now() + stop.circuit.wait)

    def _serve_group(self, visit: _Visit, switches: Switches) -> None:
        """The members of a new group may run: those that may not now go on to wait in their own lanes."""
        found = False
        for priority in sorted(Priority, reverse=True):
            lane = Lane(priority=priority, queue=visit.scope.name)
            for _ in range(self._page_limit):
                job = self._next_job(visit, lane)
                if job is None:
                    break
                found = True
                if not self._may_go_on():
                    return
                self._claims.offer(job, switches)
                self._gone[job.due_key] = self._services.clock.now()
        if not found:
            self._end_served(visit)

    # --- whose turn it is

    def _rounds(self, visit: _Visit) -> deque[_Round]:
        """The priorities of a line, each with its lanes in turn; read when the visit begins."""
        if visit.rounds is not None:
            return visit.rounds
        scope, entries, is_whole = self._services.store.lines.line(visit.scope.name, limit=_LINE_READ)
        visit.scope = replace(visit.scope, seats=scope.seats, turns=scope.turns)
        if entries:
            self._remember_seats(visit.scope, entries[0].lane)
        is_turn_of_the_lowest = self._lower_share > 0 and visit.scope.looks % round(1 / self._lower_share) == 0
        visit.rounds = deque()
        for priority in sorted(Priority, reverse=not is_turn_of_the_lowest):
            # Whose turn it was, the seats remember; where there are none, the visit that could not be finished does.
            had_turns = [turn.lane for turn in scope.turns] or ([visit.scope.place.lane] if visit.scope.place else [])
            last = next((lane for lane in had_turns if lane.priority is priority), None)
            if is_whole:
                ring = [entry for entry in entries if entry.lane.priority is priority]
                visit.rounds.append(_Round(turn=deque(self._from_the_next(ring, last, scope))))
            else:
                visit.rounds.append(_Round(unread=_unread(priority, last)))
        return visit.rounds

    def _next_in_turn(self, visit: _Visit, current: _Round) -> LineEntry | None:
        while True:
            while current.turn:
                entry = current.turn.popleft()
                # One that was just found empty is left alone until every index has caught up.
                if entry.empty_since is None or self._services.clock.now() - entry.empty_since >= _LOOK_SHORTLY_AFTER:
                    return entry
            if current.unread:
                first, last = current.unread.popleft()
                read = self._services.store.lines.entries(visit.scope.name, first=first, last=last, limit=_LINE_READ)
                if len(read) == _LINE_READ:
                    current.unread.appendleft((f"{read[-1].lane.sort}\x00", last))
                current.turn.extend(read)
            elif current.again:
                current.turn, current.again = deque(current.again), []
            else:
                return None

    def _from_the_next(self, ring: Sequence[LineEntry], last: Lane | None, scope: Scope) -> list[LineEntry]:
        """Those behind whoever had the last turn, then the others; itself first if its turn is not over."""
        if last is None:
            return list(ring)
        behind = [entry for entry in ring if entry.lane.sort > last.sort]
        others = [entry for entry in ring if entry.lane.sort < last.sort]
        itself = [entry for entry in ring if entry.lane == last]
        has_a_turn_left = self._weight(scope, last) < self._full_weight(scope, last)
        return [*itself, *behind, *others] if has_a_turn_left else [*behind, *others, *itself]

    def _weight(self, scope: Scope, lane: Lane) -> int:
        """How many jobs a lane may have before the next has its turn, less those that it just had."""
        weight = self._full_weight(scope, lane)
        turns = [turn.lane for turn in scope.turns if turn.lane.priority is lane.priority]
        had = next((at for at, each in enumerate(turns) if each != lane), len(turns))
        # Where all seats were its own, nothing tells how many turns these were.
        return weight - had if 0 < had < min(weight, len(turns)) else weight

    def _full_weight(self, scope: Scope, lane: Lane) -> int:
        return weight_of(lane.queue, scope.name, self._services.deployment.registry())

    def _next_job(self, visit: _Visit, lane: Lane) -> DueJob | None:
        """The next job of a lane that this poll has not taken yet."""
        read = visit.read.setdefault(lane, deque())
        while True:
            while read:
                job = read.popleft()
                if job.due_key not in self._gone:
                    return job
            if lane in visit.cursors and visit.cursors[lane] is None:
                return None
            self._forget_old()
            taken = self._just_taken(visit.scope, lane) if lane not in visit.cursors else None
            page = self._services.store.jobs.held(
                lane.queue, lane.priority, limit=self._page_limit, behind=taken, after=visit.cursors.get(lane)
            )
            self._claims.report.scanned += len(page.entries)
            # Nothing behind what was taken last: then from the beginning, where the index may have lagged.
            if taken is None or page.entries:
                visit.cursors[lane] = page.cursor
            else:
                visit.scope = replace(visit.scope, turns=(), place=None)
            read.extend(trusted_jobs(page.entries, self._services))

    def _just_taken(self, scope: Scope, lane: Lane) -> str | None:
        """The last job of a lane that was given a seat: the index may still show it, and all before it."""
        now = self._services.clock.now()
        turns = [*scope.turns, *([scope.place] if scope.place else [])]
        recent = (turn.due_key for turn in turns if turn.lane == lane and now - turn.at < _STALE_FOR)
        return max(recent, default="") or None

    def _forget_old(self) -> None:
        now = self._services.clock.now()
        self._gone = {key: at for key, at in self._gone.items() if timedelta(0) <= now - at < _INDEX_LAGS}

    def _remember_seats(self, scope: Scope, lane: Lane) -> None:
        limit = next((each for each in self._admission.limits_of_lane(lane) if each.scope == scope.name), None)
        if limit is not None:
            self._admission.seats.remember(limit, scope)

    # --- when to look again

    def _note_empty(self, entry: LineEntry) -> None:
        """The index may lag: a lane leaves its line only when it was found empty twice, a while apart."""
        now, lines = self._services.clock.now(), self._services.store.lines
        self._admission.forget_line(entry.scope, entry.lane)
        if entry.empty_since is None:
            lines.note_empty(entry, now, self._admission.stamp())
        elif now - entry.empty_since >= EMPTY_FOR:
            lines.leave(entry)

    def _end_full(self, visit: _Visit, lane: Lane) -> None:
        """By the next end of a seat somebody must look; an end that is reported makes it due at once."""
        limit = next(each for each in self._admission.limits_of_lane(lane) if each.scope == visit.scope.name)
        free_at = self._admission.seats.plan(limit).next_free_at
        if free_at is not None and free_at < visit.next_look_at:
            self._put_off(visit, max(free_at, self._services.clock.now()))
        visit.is_over = True

    def _end_served(self, visit: _Visit) -> None:
        """No lane can go on: they wait for something else now, or nobody waits any more."""
        now, scope = self._services.clock.now(), visit.scope
        left = self._services.store.lines.entries(scope.name, limit=_LINE_READ)
        visit.is_over = True
        if visit.room_at is not None:
            if visit.room_at < visit.next_look_at:
                self._put_off(visit, max(visit.room_at, now))
            return
        if any(entry.empty_since is None for entry in left):
            return
        if scope.empty_since is None:
            self._put_off(visit, now + (_LOOK_SHORTLY_AFTER if left else EMPTY_FOR), is_empty=True)
            # A lane that joined since the line was read believes that it is waited for: so it must be. And at once:
            # whoever freed a seat while nobody seemed to wait has started no poller.
            joined = self._services.store.lines.entries(scope.name, limit=_LINE_READ)
            if any(entry.empty_since is None for entry in joined):
                self._admission.expect_look(scope.name, now)
        elif left or now - scope.empty_since < EMPTY_FOR:
            self._put_off(visit, now + EMPTY_FOR)
        else:
            self._services.store.lines.forget(scope)

    def _put_off(self, visit: _Visit, at: datetime, *, is_empty: bool = False, place: Turn | None = None) -> bool:
        """Look again then, unless somebody has touched the scope since."""
        stamp, shards = self._admission.stamp(), self._admission.shards
        scope = self._services.store.lines.look_at(
            visit.scope, at, self._services.clock.now(), stamp=stamp, shards=shards, is_empty=is_empty, place=place
        )
        if scope is None:
            return False
        self._claims.report.note_due(at)
        visit.scope, visit.next_look_at = scope, at
        return True

    def _wait_for(self, stop: Stop, entry: DueScope) -> None:
        now, lines = self._services.clock.now(), self._services.store.lines
        scope = Scope(name=entry.scope, exists=True, due_key=entry.due_key)
        if stop.until is None:
            lines.park(scope)
        else:
            at = min(max(stop.until, now), now + LAST_LOOK_AFTER)
            lines.look_at(scope, at, now, stamp=self._admission.stamp(), shards=self._admission.shards)

    def _next_look_at(self, due_key: str, now: datetime) -> datetime:
        """Twice as long as the last wait, if that was one; the more looks are in vain, the rarer they are."""
        due = Due.parse(due_key)
        waited = due.at - creation_of(due.position)
        wait = min(max(2 * waited, FIRST_LOOK_AFTER), LAST_LOOK_AFTER)
        wait *= 1 - self._services.random_source.share() / 8
        return together(now + wait)


def _unread(priority: Priority, last: Lane | None) -> deque[tuple[str, str]]:
    """The lanes of a priority as ranges of their keys, beginning behind whoever had the last turn."""
    first, end = first_of(priority), f"{first_of(priority)[:-1]}$"
    return deque([(first, end)] if last is None else [(f"{last.sort}\x00", end), (first, last.sort)])
