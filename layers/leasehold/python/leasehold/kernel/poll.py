"""Poll: find everything that is due, and see that each of it moves on: lanes, pages, entries.

What is at the head of a lane cannot keep what is behind it waiting: an entry that was handled leaves its place, and one
that could not be handled is passed by the cursor. Lower lanes get a share of every round while higher ones are busy.
Lanes are read side by side; what they show is decided one after the other, and handed over side by side again.

What only some entries need is imported when one is met: a poller is started for a job that is due now.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from leasehold.kernel.jobs import FreedScope
from leasehold.kernel.lanes import lanes_by_priority, service_lanes
from leasehold.kernel.page import NOTHING_DUE, Lane, Pages
from leasehold.lean import dataclass
from leasehold.pool import ahead
from leasehold.telemetry import HEARTBEAT, POLL_SCANNED, Event
from leasehold.telemetry.spans import API, UNTRACED, span

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import datetime

    from leasehold.kernel.jobs import DuePage
    from leasehold.kernel.page import Hint
    from leasehold.kernel.ports import Dispatcher
    from leasehold.kernel.services import Services
    from leasehold.limits.model import ConcurrencyPolicy
    from leasehold.pool import Pool


POLL_LIMIT = 25
_READ_AGAIN_AFTER = timedelta(milliseconds=500)
# A page that waited for its turn so long is read again, as others may have claimed what it shows.
_STALE_AFTER = timedelta(milliseconds=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class PollSettings:
    """poll_limit: entries read per query. lower_share: part of it that busy higher lanes leave to each lower one.

    leaves_to_wakes: for so long a scope that was just made due is left to whoever is on the way because of it.
    """

    poll_limit: int = POLL_LIMIT
    lower_share: float = 0.2
    leaves_to_wakes: timedelta = timedelta(0)


@dataclass(slots=True)
class PollReport:
    """Counts of one poll. `looked` are scopes that somebody waits for; `lost_races` are jobs that another poller was
    quicker with; `failed` are entries that could not be handled and were passed by. `stopped_by` says why it ended.
    """

    scanned: int = 0
    claimed: int = 0
    dispatched: int = 0
    released: int = 0
    reaped: int = 0
    settled: int = 0
    triggered: int = 0
    held: int = 0
    expired: int = 0
    turned_away: int = 0
    looked: int = 0
    lost_races: int = 0
    failed: int = 0
    # Jobs that stay due because too many others were handed over and have not started yet.
    held_back: int = 0
    stopped_by: str = NOTHING_DUE
    # When this poll itself has seen to it that something falls due, the soonest.
    soonest_at: datetime | None = None

    @property
    def goes_on(self) -> bool:
        return self.stopped_by == NOTHING_DUE

    @property
    def has_moved_on(self) -> bool:
        """Whether anything that was due is not so any more."""
        of_jobs = self.claimed + self.reaped + self.settled + self.held + self.expired + self.turned_away
        return of_jobs + self.triggered + self.looked > 0

    def note_due(self, at: datetime) -> None:
        self.soonest_at = min(at, self.soonest_at or at)

    def as_fields(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if name != "soonest_at"}


class Part(NamedTuple):
    """Which of the pollers that share a backlog, and so which shards it looks after first."""

    number: int
    of: int

    def has(self, shard: int, shards: int) -> bool:
        return self.first(shards) <= shard < Part(self.number + 1, self.of).first(shards)

    def first(self, shards: int) -> int:
        return self.number * shards // self.of


ALONE = Part(0, 1)


class Poller:
    """Claims what is due and hands it over. Any number may run at once; each claim is decided by its condition.

    pool: what runs side by side; None where everything is done in turn.
    call_helper: starts another poller for a part of the shards, where a backlog is more than one's work.
    """

    def __init__(
        self,
        services: Services,
        dispatcher: Dispatcher,
        *,
        worker_id: str,
        settings: PollSettings | None = None,
        policy: ConcurrencyPolicy | None = None,
        pool: Pool | None = None,
        call_helper: Callable[[Part], None] | None = None,
    ) -> None:
        self.services = services
        self.dispatcher = dispatcher
        self.worker_id = worker_id
        self.settings = settings or PollSettings()
        self.policy = policy
        self.pool = pool
        self.call_helper = call_helper
        self._levels: dict[int, list[list[str]]] = {}

    def poll(
        self,
        *,
        hints: Sequence[Hint] = (),
        lanes: Collection[str] | None = None,
        part: Part = ALONE,
        should_stop: Callable[[], str | None] | None = None,
    ) -> PollReport:
        """Work until nothing is due, `should_stop` names a reason, or the system is halted.

        A stop never interrupts a hand-over: it is noticed between two entries. `hints` are jobs that a stream has
        shown before the index may show them; they are claimed by the same condition as all others. `lanes` are those
        to visit, if not all; `part` is where to begin, so that pollers who share a backlog begin at different shards.
        """
        if not hints:  # a wake says that the stream is alive, which is no news of the tick
            self.services.telemetry.measure(HEARTBEAT, 1)
        run = _Run(self, should_stop, lanes, part)
        with span("poll") if API in sys.modules else UNTRACED as polling:
            run.to_the_end(hints)
            if polling is not None:
                polling.note(count=run.report.claimed)
        self.services.telemetry.measure(POLL_SCANNED, run.report.scanned)
        self.services.telemetry.event(Event.POLL_FINISHED, worker_id=self.worker_id, **run.report.as_fields())
        return run.report

    def levels(self, shards: int) -> list[list[str]]:
        """All lanes, by priority."""
        if shards not in self._levels:
            self._levels = {shards: [list(level) for level in lanes_by_priority(shards)]}
        return self._levels[shards]


class _Run:
    """One poll."""

    def __init__(
        self, poller: Poller, should_stop: Callable[[], str | None] | None, lanes: Collection[str] | None, part: Part
    ) -> None:
        self.report = PollReport()
        self._poller = poller
        self._services = poller.services
        self._settings = poller.settings
        self._should_stop = should_stop
        self._lanes = lanes
        self._part = part
        self._pages: Pages

    def to_the_end(self, hints: Sequence[Hint]) -> None:
        pages = Pages(self._poller, self.report, self._should_stop, self._part)
        switches = pages.read_switches()
        if switches.halt is not None:
            for hint in hints:
                if isinstance(hint, FreedScope):
                    pages.handle(hint, switches, is_left=True)
            return
        pages.registry = self._services.deployment.registry()
        self._pages = pages
        try:
            if hints:
                pages.take(hints, switches)
                if all(isinstance(hint, FreedScope) for hint in hints) and (
                    pages.visits is None or not pages.visits.is_open
                ):
                    return  # a freed seat makes nothing else due
            names: Collection[str] | None = self._lanes
            while (again := self._sweep(names)) is not None and self.report.goes_on:
                names = again
                # Whoever found us holding a lock left its work to us: give the locks up first, then look once more.
                if pages.sharing is not None:
                    pages.sharing.give_up()
        finally:
            pages.close()

    # --- which lanes

    def _sweep(self, names: Collection[str] | None) -> Collection[str] | None:
        """Work through these lanes once, or through all; then which to look at once more, or None if none."""
        levels = self._levels(names)
        lanes = [lane for level in levels for lane in level]
        if self._pages.seen:
            self._pages.forget_old()
        seen_before, done_before = len(self._pages.seen), self._done_elsewhere()
        while any(not lane.is_exhausted for lane in lanes):
            is_busy_above = False
            self._reopen(lanes)
            looks_at_all = self._looks_at_all(lanes)
            for level in levels:
                found = False
                for lane, page in self._read(level, self._limit(below_a_busy_lane=is_busy_above), looks_at_all):
                    if not page.entries:
                        lane.cursor, lane.is_exhausted = page.cursor, page.cursor is None
                        continue
                    found = True
                    self._pages.visit(lane, page)
                    if not self.report.goes_on:
                        return ()
                is_busy_above = is_busy_above or found
        # Whoever waited is served a page at a time, so that what falls due meanwhile has its turn in between.
        visits = self._pages.visits
        has_guests = visits is not None and self._pages.read_switches().halt is None and visits.go_on()
        if not has_guests and len(self._pages.seen) == seen_before:
            return None
        if self._done_elsewhere() != done_before:
            return self._lanes if self._lanes is not None else self._all_lanes()
        return self._worth_a_look(lanes)

    def _levels(self, names: Collection[str] | None) -> list[list[Lane]]:
        """The lanes by priority, in each of them the poll's own first shard first."""
        levels = []
        first_shard = self._part.first(self._pages.registry.shards) if self._part.of > 1 else 0
        for level in self._poller.levels(self._pages.registry.shards):
            lanes = [
                Lane(name, shard, is_exhausted=name in self._pages.left_to_others)
                for shard, name in enumerate(level)
                if names is None or name in names
            ]
            first = next((at for at, lane in enumerate(lanes) if lane.shard >= first_shard), 0)
            levels.append([*lanes[first:], *lanes[:first]])
        return levels

    def _all_lanes(self) -> list[str]:
        return [name for level in self._poller.levels(self._pages.registry.shards) for name in level]

    def _done_elsewhere(self) -> int:
        """What was done that may have made something due in any lane."""
        report = self.report
        return report.triggered + report.settled + report.reaped + report.expired + report.turned_away + report.held

    def _worth_a_look(self, lanes: Sequence[Lane]) -> list[str]:
        """Lanes that showed something, those where features wait, and all that were not read for a while."""
        now = self._services.clock.now()
        also = set(service_lanes(self._pages.registry.shards)) if self.report.looked else set()
        is_long = max((lane.pages for lane in lanes), default=0) > 1 or self._pages.visits is not None
        if is_long and self._lanes is None:
            read_lately = {lane.name for lane in lanes if lane.read_at and now - lane.read_at < _READ_AGAIN_AFTER}
            also |= {name for name in self._all_lanes() if name not in read_lately}
        return [lane.name for lane in lanes if lane.pages and lane.name not in also] + sorted(also)

    def _reopen(self, lanes: Iterable[Lane]) -> None:
        """While some lane takes long, what falls due in the others does not wait for its end."""
        now = self._services.clock.now()
        for lane in lanes:
            if lane.is_exhausted and lane.read_at is not None and now - lane.read_at >= _READ_AGAIN_AFTER:
                lane.cursor, lane.is_exhausted = None, lane.name in self._pages.left_to_others
                lane.in_vain = 0

    def _limit(self, *, below_a_busy_lane: bool) -> int:
        limit = self._settings.poll_limit
        return max(1, int(limit * self._settings.lower_share)) if below_a_busy_lane else limit

    # --- which of several pollers works where

    def _is_mine(self, lane: Lane) -> bool:
        return self._pages.sharing is None or self._pages.sharing.is_mine(lane.shard)

    def _looks_at_all(self, lanes: Sequence[Lane]) -> bool:
        if self._part.of == 1 and self._pages.sharing is None:
            return True
        is_busy = any(not lane.is_exhausted and self._pages.shared.is_mine(lane.shard) for lane in lanes)
        return self._pages.shared.looks_at_all(is_busy=is_busy)

    # --- one page

    def _read(self, level: Sequence[Lane], limit: int, looks_at_all: bool) -> Iterable[tuple[Lane, DuePage]]:
        """The next page of each lane that has one, read side by side."""

        def read(lane: Lane) -> DuePage:
            lane.read_at = self._services.clock.now()
            return self._services.store.jobs.due(lane.name, lane.read_at, limit=limit, after=lane.cursor)

        lanes = [lane for lane in level if not lane.is_exhausted and (looks_at_all or self._is_mine(lane))]
        if self._poller.pool is None or len(lanes) == 1:
            for lane in lanes:
                yield lane, read(lane)
            return
        for lane, page in ahead(self._poller.pool, read, lanes):
            assert lane.read_at is not None
            is_stale = page.entries and self._services.clock.now() - lane.read_at >= _STALE_AFTER
            yield lane, read(lane) if is_stale else page
