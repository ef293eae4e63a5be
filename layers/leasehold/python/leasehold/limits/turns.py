"""Turns: whose turn it is in a line, and which job is the next of its lane, as one visit sees it.

The lanes of the highest priority go first, and at a stated share of looks those of the lowest. Among the lanes of a
priority the next is the one behind whoever was given a seat last, which the seats remember. It may take as many as its
weight before the next has its turn; alone, as many as there is room for.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field, replace
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from leasehold.kernel.keys import Priority
from leasehold.kernel.trust import trusted_jobs
from leasehold.lean import dataclass
from leasehold.limits.model import weight_of
from leasehold.limits.scopes import Lane, Turn, first_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from leasehold.kernel.jobs import DueJob
    from leasehold.kernel.table import Record
    from leasehold.limits.looks import Looks
    from leasehold.limits.scopes import LineEntry, Scope

# So much of a line is read at once.
LINE_READ = 40
# A lane that looks empty is looked at again when every index has caught up.
LOOK_SHORTLY_AFTER = timedelta(seconds=2)
# For so long an index mostly shows a job that has left its lane.
_STALE_FOR = timedelta(seconds=2)


@dataclass(slots=True)
class _Round:
    """The lanes of one priority, in turn: those to come, those that have had a turn, and those not read yet."""

    turn: deque[LineEntry] = field(default_factory=deque)
    again: list[LineEntry] = field(default_factory=list)
    unread: deque[tuple[str, str]] = field(default_factory=deque)


class Visit:
    """A look that was taken, and is not over until nobody can go on."""

    def __init__(self, shared: Looks, scope: Scope, began_at: datetime, next_look_at: datetime) -> None:
        self.scope = scope
        self.began_at = began_at
        self.next_look_at = next_look_at
        # When the first of those that stay in line may go on.
        self.room_at: datetime | None = None
        self.is_over = False
        self._shared = shared
        self._rounds: deque[_Round] | None = None
        # What was read of the lanes and not served yet, and where the next page of each begins.
        self._read: dict[Lane, deque[DueJob]] = {}
        self._cursors: dict[Lane, Record | None] = {}
        # The lane that was served last, and what was taken from lanes without a seat that would remember it.
        self._place: Lane | None = None
        self._taken: dict[Lane, str] = {}

    def next_lane(self) -> LineEntry | None:
        """Whose turn it is; None when all have had theirs."""
        rounds = self._opened()
        while rounds:
            entry = self._next_of(rounds[0])
            if entry is not None:
                self._place = entry.lane
                return entry
            rounds.popleft()
        return None

    def jobs_of_turn(self, lane: Lane) -> int:
        """How many jobs the lane whose turn it is may have now."""
        current = self._opened()[0]
        has_others = current.turn or current.again or current.unread
        return self._weight(lane) if has_others else self._shared.page_limit

    def come_again(self, entry: LineEntry) -> None:
        """It has more, and waits for its next turn."""
        self._opened()[0].again.append(entry)

    @property
    def place(self) -> Turn | None:
        """Where the next visit goes on."""
        place, clock = self._place, self._shared.services.clock
        return None if place is None else Turn(place, clock.now(), self._taken.get(place, ""))

    def next_job(self, lane: Lane) -> DueJob | None:
        """The next job of a lane that this poll has not taken yet."""
        read, shared = self._read.setdefault(lane, deque()), self._shared
        while True:
            while read:
                job = read.popleft()
                if job.due_key not in shared.gone:
                    return job
            if lane in self._cursors and self._cursors[lane] is None:
                return None
            shared.forget_old()
            taken = self._just_taken(lane) if lane not in self._cursors else None
            page = shared.services.store.listings.held(
                lane.queue, lane.priority, limit=shared.page_limit, behind=taken, after=self._cursors.get(lane)
            )
            shared.report.scanned += len(page.entries)
            # Nothing behind what was taken last: then from the beginning, where the index may have lagged.
            if taken is None or page.entries:
                self._cursors[lane] = page.cursor
            else:
                self.scope = replace(self.scope, turns=(), place=None)
            read.extend(trusted_jobs(page.entries, shared.services))

    def next_jobs(self, lane: Lane, count: int) -> Iterator[DueJob]:
        return islice(iter(partial(self.next_job, lane), None), count)

    def note_gone(self, job: DueJob, lane: Lane) -> None:
        """It left its lane, and no seat remembers that."""
        self._shared.note_gone(job)
        self._taken[lane] = job.due_key

    def put_back(self, job: DueJob, lane: Lane) -> None:
        self._read[lane].appendleft(job)

    # --- the rounds

    def _opened(self) -> deque[_Round]:
        """The priorities of the line, each with its lanes in turn; read when the visit begins."""
        if self._rounds is not None:
            return self._rounds
        shared = self._shared
        scope, entries, is_whole = shared.services.store.lines.line(self.scope.name, limit=LINE_READ)
        self.scope = replace(self.scope, seats=scope.seats, turns=scope.turns)
        shared.admission.remember_seats(self.scope, entries)
        # Whose turn it was, the seats remember; where there are none, the visit that could not be finished does.
        had_turns = [turn.lane for turn in scope.turns] or ([self.scope.place.lane] if self.scope.place else [])
        is_turn_of_the_lowest = shared.lower_share > 0 and self.scope.looks % round(1 / shared.lower_share) == 0
        self._rounds = deque()
        for priority in sorted(Priority, reverse=not is_turn_of_the_lowest):
            last = next((lane for lane in had_turns if lane.priority is priority), None)
            if is_whole:
                ring = [entry for entry in entries if entry.lane.priority is priority]
                self._rounds.append(_Round(turn=deque(self._from_the_next(ring, last))))
            else:
                self._rounds.append(_Round(unread=_unread(priority, last)))
        return self._rounds

    def _next_of(self, current: _Round) -> LineEntry | None:
        clock, lines = self._shared.services.clock, self._shared.services.store.lines
        while True:
            while current.turn:
                entry = current.turn.popleft()
                # One that was just found empty is left alone until every index has caught up.
                if entry.empty_since is None or clock.now() - entry.empty_since >= LOOK_SHORTLY_AFTER:
                    return entry
            if current.unread:
                first, last = current.unread.popleft()
                read = lines.entries(self.scope.name, first=first, last=last, limit=LINE_READ)
                if len(read) == LINE_READ:
                    current.unread.appendleft((f"{read[-1].lane.sort}\x00", last))
                current.turn.extend(read)
            elif current.again:
                current.turn, current.again = deque(current.again), []
            else:
                return None

    def _from_the_next(self, ring: Sequence[LineEntry], last: Lane | None) -> list[LineEntry]:
        """Those behind whoever had the last turn, then the others; itself first if its turn is not over."""
        if last is None:
            return list(ring)
        behind = [entry for entry in ring if entry.lane.sort > last.sort]
        others = [entry for entry in ring if entry.lane.sort < last.sort]
        itself = [entry for entry in ring if entry.lane == last]
        has_a_turn_left = self._weight(last) < self._full_weight(last)
        return [*itself, *behind, *others] if has_a_turn_left else [*behind, *others, *itself]

    def _weight(self, lane: Lane) -> int:
        """How many jobs a lane may have before the next has its turn, less those that it just had."""
        weight = self._full_weight(lane)
        turns = [turn.lane for turn in self.scope.turns if turn.lane.priority is lane.priority]
        had = next((at for at, each in enumerate(turns) if each != lane), len(turns))
        # Where all seats were its own, nothing tells how many turns these were.
        return weight - had if 0 < had < min(weight, len(turns)) else weight

    def _full_weight(self, lane: Lane) -> int:
        return weight_of(lane.queue, self.scope.name, self._shared.services.deployment.registry())

    def _just_taken(self, lane: Lane) -> str | None:
        """The last job of a lane that was given a seat: the index may still show it, and all before it."""
        now = self._shared.services.clock.now()
        turns = [*self.scope.turns, *([self.scope.place] if self.scope.place else [])]
        recent = (turn.due_key for turn in turns if turn.lane == lane and now - turn.at < _STALE_FOR)
        return max(recent, default="") or None


def _unread(priority: Priority, last: Lane | None) -> deque[tuple[str, str]]:
    """The lanes of a priority as ranges of their keys, beginning behind whoever had the last turn."""
    first, end = first_of(priority), f"{first_of(priority)[:-1]}$"
    return deque([(first, end)] if last is None else [(f"{last.sort}\x00", end), (first, last.sort)])
