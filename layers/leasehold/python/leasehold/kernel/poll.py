"""Poll: find everything that is due, and see that each of it moves on: lanes, pages, entries.

What is at the head of a lane cannot keep what is behind it waiting: an entry that was handled leaves its place, and one
that could not be handled is passed by the cursor. Lower lanes get a share of every round while higher ones are busy.
Lanes are read side by side; what they show is decided one after the other, on the poll's own thread (claim.py).

What only some polls need is imported when it is met: what a stream has shown (pollers/hints.py), room where hand-overs
are bounded (pollers/window.py), who works where if there is a backlog (pollers/sharing.py).
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import KW_ONLY, asdict
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold import features
from leasehold.kernel.claim import Claims
from leasehold.kernel.jobs import DueJob
from leasehold.kernel.lanes import Lane, all_lanes, lanes_by_priority, service_lanes
from leasehold.kernel.other_entries import DueScope
from leasehold.kernel.trust import is_trusted_entry
from leasehold.lean import dataclass
from leasehold.pool import ahead
from leasehold.telemetry import HEARTBEAT, POLL_SCANNED, Event
from leasehold.telemetry.spans import API, UNTRACED, span

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import datetime

    from leasehold.kernel.jobs import DueEntry, DuePage
    from leasehold.kernel.other_entries import FreedScope
    from leasehold.kernel.ports import Dispatcher
    from leasehold.kernel.registry import Registry, Switches
    from leasehold.kernel.services import Services
    from leasehold.limits.model import ConcurrencyPolicy
    from leasehold.pollers.sharing import Part, Sharing
    from leasehold.pool import Pool

    type Hint = DueJob | DueScope | FreedScope

POLL_LIMIT = 25
_READ_AGAIN_AFTER = timedelta(milliseconds=500)
# A page that waited for its turn so long is read again, as others may have claimed what it shows.
_STALE_AFTER = timedelta(milliseconds=200)
# From here on it pays to be alone: the lock costs two writes, and saves a call for every further job.
_BACKLOG = 8
# An entry that could not be handled is tried again, and a lane that was left to others is looked at.
_FORGOTTEN_AFTER = timedelta(seconds=30)

NOTHING_DUE = "nothing due"
HALT = "halt"


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

    def note_due(self, at: datetime) -> None:
        self.soonest_at = min(at, self.soonest_at or at)

    def as_fields(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if name != "soonest_at"}


@dataclass()
class Poller:
    """Claims what is due and hands it over. Any number may run at once; each claim is decided by its condition.

    pool: what runs side by side; None where everything is done in turn.
    call_helper: starts another poller for a part of the shards, where a backlog is more than one's work.
    """

    services: Services
    dispatcher: Dispatcher
    _: KW_ONLY
    worker_id: str
    settings: PollSettings | None = None
    policy: ConcurrencyPolicy | None = None
    pool: Pool | None = None
    call_helper: Callable[[Part], None] | None = None

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
        telemetry, poll = self.services.telemetry, Poll(self, should_stop)
        if not hints:  # a wake says that the stream is alive, which is no news of the tick
            telemetry.measure(HEARTBEAT, 1)
        with span("poll") if API in sys.modules else UNTRACED as polling:
            poll.run(hints, lanes, part)
            if polling is not None:
                polling.note(count=poll.report.claimed)
        telemetry.measure(POLL_SCANNED, poll.report.scanned)
        telemetry.event(Event.POLL_FINISHED, worker_id=self.worker_id, **poll.report.as_fields())
        return poll.report


class Poll:
    """One poll: what it has met, and what came of it."""

    def __init__(self, poller: Poller, should_stop: Callable[[], str | None] | None) -> None:
        self.poller = poller
        self.services = poller.services
        self.settings = poller.settings or PollSettings()
        self.report = PollReport()
        self.should_stop = should_stop
        self.registry: Registry
        self.claims = Claims(self)
        # Due keys that were handled, or could not be; forgotten after a while, so that a long poll tries again.
        self.seen: dict[str, datetime] = {}
        # Opened by the first backlog, or for a poller of a part.
        self.sharing: Sharing | None = None

    def run(self, hints: Sequence[Hint], asked: Collection[str] | None, part: Part | None) -> None:
        try:
            switches = self.read_switches()
            if switches.halt is None:  # something may run: see what is deployed, and what this poll needs for it
                self.registry = self.services.deployment.registry()
                has_batches = any(each.batch for each in self.registry.types.values())
                if self.poller.pool or self.services.window or has_batches:
                    self.claims.hand_overs = features.SideBySide(self)
                if part is not None:
                    features.share(self, part)
            if (hints and not features.take_hints(hints, switches, self)) or switches.halt is not None:
                return
            names = asked
            while (names := self._sweep(names, asked)) is not None and self.report.goes_on:
                # Whoever found us holding a lock left its work to us: give the locks up first, then look once more.
                if self.sharing is not None:
                    self.sharing.give_up()
        finally:
            with ExitStack() as closing:  # what is named last comes first, and keeps nothing behind it from its turn
                if self.sharing is not None:
                    closing.callback(self.sharing.give_up)
                closing.callback(self.claims.hand_overs.wait)
                if self.claims.gate is not None:
                    closing.callback(self.claims.gate.close)

    def may_go_on(self) -> bool:
        if self.should_stop is not None and (reason := self.should_stop()) is not None:
            self.report.stopped_by = reason
        return self.report.goes_on

    def read_switches(self) -> Switches:
        """What is switched off now; a halt stops the poll."""
        switches = self.services.deployment.switches(fresh=True)
        if (halt := switches.halt) is not None:
            self.report.stopped_by = HALT
            self.services.telemetry.event(
                Event.POLL_PAUSED, message="job worker paused due to system halt", by=halt.by, reason=halt.reason
            )
        return switches

    # --- which lanes

    def _sweep(self, names: Collection[str] | None, asked: Collection[str] | None) -> Collection[str] | None:
        """Work through these lanes once, or through all; then which to look at once more, or None if none."""
        self._forget_old()
        levels = self._levels(names)
        lanes = [lane for level in levels for lane in level]
        seen_before, moved_before = len(self.seen), self.report.moved_elsewhere
        while any(not lane.is_exhausted for lane in lanes):
            is_busy_above = False
            self._reopen(lanes)
            for level in levels:
                for lane, page in self._read(level, below_a_busy_lane=is_busy_above):
                    is_busy_above |= self._visit(lane, page)
                    if is_busy_above and not self.report.goes_on:
                        return None
        # Whoever waited for a seat is served a page at a time: what falls due meanwhile has its turn in between.
        gate = self.claims.gate
        if (gate is None or not gate.go_on()) and len(self.seen) == seen_before:
            return None
        if self.report.moved_elsewhere != moved_before:
            return all_lanes(self.registry.shards) if asked is None else asked
        return self._worth_a_look(lanes, reads_all=asked is None)

    def _forget_old(self) -> None:
        now = self.services.clock.now()
        if any(now - at >= _FORGOTTEN_AFTER for at in self.seen.values()):
            self.seen = {key: at for key, at in self.seen.items() if now - at < _FORGOTTEN_AFTER}
            if self.sharing is not None:
                self.sharing.left_to_others.clear()

    def _levels(self, names: Collection[str] | None) -> list[list[Lane]]:
        """The lanes by priority, in each of them the poll's own first shard first."""
        levels = [
            [Lane(name, shard) for shard, name in enumerate(level) if names is None or name in names]
            for level in lanes_by_priority(self.registry.shards)
        ]
        return levels if self.sharing is None else [self.sharing.arranged(level) for level in levels]

    def _reopen(self, lanes: Sequence[Lane]) -> None:
        """While some lane takes long, what falls due in the others does not wait for its end."""
        now = self.services.clock.now()
        for lane in lanes:
            if lane.is_exhausted and lane.read_at is not None and now - lane.read_at >= _READ_AGAIN_AFTER:
                lane.cursor, lane.in_vain, lane.is_exhausted = None, 0, False
        if self.sharing is not None:
            self.sharing.begin_round(lanes)

    def _worth_a_look(self, lanes: Sequence[Lane], *, reads_all: bool) -> set[str]:
        """Lanes that showed something, those where features wait, and all that were not read for a while."""
        now, has_looked, shards = self.services.clock.now(), self.report.looked > 0, self.registry.shards
        again = {lane.name for lane in lanes if lane.pages}
        if has_looked:
            again.update(service_lanes(shards))
        if reads_all and (has_looked or any(lane.pages > 1 for lane in lanes)):
            lately = {lane.name for lane in lanes if lane.read_at and now - lane.read_at < _READ_AGAIN_AFTER}
            again.update({*all_lanes(shards)} - lately)
        return again

    # --- one page

    def _read(self, level: Sequence[Lane], *, below_a_busy_lane: bool) -> Iterable[tuple[Lane, DuePage]]:
        """The next page of each lane that has one, read side by side."""
        settings, now = self.settings, self.services.clock.now
        limit = max(1, int(settings.poll_limit * settings.lower_share)) if below_a_busy_lane else settings.poll_limit

        def read(lane: Lane) -> DuePage:
            lane.read_at = now()
            return self.services.store.jobs.due(lane.name, lane.read_at, limit=limit, after=lane.cursor)

        lanes = [lane for lane in level if not (lane.is_exhausted or lane.is_passed_by)]
        if self.poller.pool is None or len(lanes) == 1:
            for lane in lanes:
                yield lane, read(lane)
            return
        for lane, page in ahead(self.poller.pool, read, lanes):
            is_stale = page.entries and lane.read_at and now() - lane.read_at >= _STALE_AFTER
            yield lane, read(lane) if is_stale else page

    def _visit(self, lane: Lane, page: DuePage) -> bool:
        """Handle what one page of a lane shows; False if that is nothing."""
        before, lane.cursor, lane.is_exhausted = lane.cursor, page.cursor, page.cursor is None
        if not page.entries:
            return False
        lane.pages += 1
        self.report.scanned += len(page.entries)
        fresh = self.fresh(page.entries)
        # Read after the page: a pause that ended before the page was written is not mistaken for one that goes on.
        if not fresh or (switches := self.read_switches()).halt is not None:
            return True
        window = self.services.window
        if window is not None and not (fresh := window.admit_page(fresh, lane, before, switches, self)):
            return True
        if self.is_backlog(page.entries) and not features.share(self).begin(lane, page, self):
            return True
        # Jobs first: what waited for a seat is a guest in this lane.
        fresh.sort(key=lambda entry: isinstance(entry, DueScope))
        work_off = self.claims.work_off if self.sharing is None else partial(self.sharing.work_off, lane, self.claims)
        if not work_off(fresh, switches):
            features.share(self).meet_winner(lane, before)
        self.claims.after_page(is_last=lane.is_exhausted)
        return True

    def fresh[Entry: DueEntry](self, shown: Sequence[Entry]) -> list[Entry]:
        """What was not handled yet, agrees with its key, and waits for nobody."""
        now, left_for = self.services.clock.now(), self.settings.leaves_to_wakes
        self.registry = known = self.services.deployment.registry()
        fresh = [
            entry
            for entry in shown
            if entry.due_key not in self.seen
            and not (isinstance(entry, DueScope) and features.is_left_to_wakes(entry, now, left_for))
            and (
                (isinstance(entry, DueJob) and known.agrees(entry.job_id, entry.job_type))
                or is_trusted_entry(entry, now, self.seen, self.services)
            )
        ]
        types = [known.types.get(entry.job_type) for entry in fresh if isinstance(entry, DueJob)]
        if any(each is not None and each.batch for each in types):
            return features.ready_for_batches(fresh, known, self.report, now)
        return fresh

    def is_backlog(self, entries: Sequence[DueEntry]) -> bool:
        return len(entries) >= min(_BACKLOG, self.settings.poll_limit)
