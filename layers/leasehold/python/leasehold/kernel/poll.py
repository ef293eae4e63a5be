"""Poll: find everything that is due, and see that each of it moves on: lanes, pages, entries.

What is at the head of a lane cannot keep what is behind it waiting: an entry that was handled leaves its place, and one
that could not be handled is passed by the cursor. Lower lanes get a share of every round while higher ones are busy.
Lanes are read side by side; what they show is decided one after the other (page.py).
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.lanes import lanes_by_priority, service_lanes
from leasehold.kernel.other_entries import FreedScope
from leasehold.kernel.page import NOTHING_DUE, Lane, Poll
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
    from leasehold.pollers.sharing import Part
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
    def moved_elsewhere(self) -> int:
        """What was done that may have made something due in any lane."""
        return self.triggered + self.settled + self.reaped + self.expired + self.turned_away + self.held

    @property
    def has_moved_on(self) -> bool:
        """Whether anything that was due is not so any more."""
        return self.claimed + self.moved_elsewhere + self.looked > 0

    def note_due(self, at: datetime) -> None:
        self.soonest_at = min(at, self.soonest_at or at)

    def as_fields(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if name != "soonest_at"}


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

    def poll(
        self,
        *,
        hints: Sequence[Hint] = (),
        lanes: Collection[str] | None = None,
        part: Part | None = None,
        should_stop: Callable[[], str | None] | None = None,
    ) -> PollReport:
        """Work until nothing is due, `should_stop` names a reason, or the system is halted.

        A stop never interrupts a hand-over: it is noticed between two entries. `hints` are jobs that a stream has
        shown before the index may show them; they are claimed by the same condition as all others. `lanes` are those
        to visit, if not all; `part` is where to begin, so that pollers who share a backlog begin at different shards.
        """
        telemetry, report = self.services.telemetry, PollReport()
        if not hints:  # a wake says that the stream is alive, which is no news of the tick
            telemetry.measure(HEARTBEAT, 1)
        with span("poll") if API in sys.modules else UNTRACED as polling:
            self._run(Poll(self, report, should_stop), hints, lanes, part)
            if polling is not None:
                polling.note(count=report.claimed)
        telemetry.measure(POLL_SCANNED, report.scanned)
        telemetry.event(Event.POLL_FINISHED, worker_id=self.worker_id, **report.as_fields())
        return report

    def _run(self, poll: Poll, hints: Sequence[Hint], asked: Collection[str] | None, part: Part | None) -> None:
        try:
            switches = poll.read_switches()
            if switches.halt is None:
                poll.open(part)
            if hints:
                from leasehold.features import take_hints

                take_hints(hints, switches, poll)
                if all(isinstance(hint, FreedScope) for hint in hints) and not poll.has_guests:
                    return  # a freed seat makes nothing else due
            if switches.halt is not None:
                return
            names = asked
            while (again := self._sweep(poll, names, asked)) is not None and poll.report.goes_on:
                names = again
                # Whoever found us holding a lock left its work to us: give the locks up first, then look once more.
                if poll.sharing is not None:
                    poll.sharing.give_up()
        finally:
            poll.close()

    # --- which lanes

    def _sweep(
        self, poll: Poll, names: Collection[str] | None, asked: Collection[str] | None
    ) -> Collection[str] | None:
        """Work through these lanes once, or through all; then which to look at once more, or None if none."""
        levels = self._levels(poll, names)
        lanes = [lane for level in levels for lane in level]
        poll.forget_old()
        seen_before, moved_before = len(poll.seen), poll.report.moved_elsewhere
        while any(not lane.is_exhausted for lane in lanes):
            is_busy_above = False
            self._reopen(poll, lanes)
            if poll.sharing is not None:
                poll.sharing.begin_round(lanes)
            for level in levels:
                found = False
                for lane, page in self._read(poll, level, below_a_busy_lane=is_busy_above):
                    if not page.entries:
                        lane.cursor, lane.is_exhausted = page.cursor, page.cursor is None
                        continue
                    found = True
                    poll.visit(lane, page)
                    if not poll.report.goes_on:
                        return ()
                is_busy_above = is_busy_above or found
        # Whoever waited is served a page at a time, so that what falls due meanwhile has its turn in between.
        if not poll.serve_guests() and len(poll.seen) == seen_before:
            return None
        if poll.report.moved_elsewhere != moved_before:
            return asked if asked is not None else _all_lanes(poll)
        return self._worth_a_look(poll, lanes, asked)

    def _levels(self, poll: Poll, names: Collection[str] | None) -> list[list[Lane]]:
        """The lanes by priority, in each of them the poll's own first shard first."""
        levels = [
            [Lane(name, shard) for shard, name in enumerate(level) if names is None or name in names]
            for level in lanes_by_priority(poll.registry.shards)
        ]
        return levels if poll.sharing is None else [poll.sharing.arranged(level) for level in levels]

    def _worth_a_look(self, poll: Poll, lanes: Sequence[Lane], asked: Collection[str] | None) -> list[str]:
        """Lanes that showed something, those where features wait, and all that were not read for a while."""
        now, has_looked = self.services.clock.now(), poll.report.looked > 0
        also = set(service_lanes(poll.registry.shards)) if has_looked else set()
        if asked is None and (has_looked or max((lane.pages for lane in lanes), default=0) > 1):
            read_lately = {lane.name for lane in lanes if lane.read_at and now - lane.read_at < _READ_AGAIN_AFTER}
            also |= {name for name in _all_lanes(poll) if name not in read_lately}
        return [lane.name for lane in lanes if lane.pages and lane.name not in also] + sorted(also)

    def _reopen(self, poll: Poll, lanes: Iterable[Lane]) -> None:
        """While some lane takes long, what falls due in the others does not wait for its end."""
        now = self.services.clock.now()
        for lane in lanes:
            if lane.is_exhausted and lane.read_at is not None and now - lane.read_at >= _READ_AGAIN_AFTER:
                lane.cursor, lane.in_vain = None, 0
                lane.is_exhausted = poll.sharing is not None and lane.name in poll.sharing.left_to_others

    # --- one page

    def _read(self, poll: Poll, level: Sequence[Lane], *, below_a_busy_lane: bool) -> Iterable[tuple[Lane, DuePage]]:
        """The next page of each lane that has one, read side by side."""
        limit = self.settings.poll_limit
        if below_a_busy_lane:
            limit = max(1, int(limit * self.settings.lower_share))

        def read(lane: Lane) -> DuePage:
            lane.read_at = self.services.clock.now()
            return self.services.store.jobs.due(lane.name, lane.read_at, limit=limit, after=lane.cursor)

        lanes = [
            lane for lane in level if not lane.is_exhausted and (poll.sharing is None or poll.sharing.reads(lane.shard))
        ]
        if self.pool is None or len(lanes) == 1:
            for lane in lanes:
                yield lane, read(lane)
            return
        for lane, page in ahead(self.pool, read, lanes):
            assert lane.read_at is not None
            is_stale = page.entries and self.services.clock.now() - lane.read_at >= _STALE_AFTER
            yield lane, read(lane) if is_stale else page


def _all_lanes(poll: Poll) -> list[str]:
    return [name for level in lanes_by_priority(poll.registry.shards) for name in level]
