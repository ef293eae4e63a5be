"""Poll: find everything that is due, and see that each of it moves on.

What is at the head of a lane cannot keep what is behind it waiting: an entry that was handled leaves its place, and one
that could not be handled is passed by the cursor. Lower lanes get a share of every round while higher ones are busy.
Lanes are read side by side; what they show is decided one after the other, and handed over side by side again.

What only some entries need is imported when one is met: a poller is started for a job that is due now.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, assert_never

from leasehold.kernel.admission import Gatekeeper, trusted_entries, trusted_jobs
from leasehold.kernel.claim import Claims, HandOvers, ready
from leasehold.kernel.deployment import ShardLocks
from leasehold.kernel.errors import LeaseholdError, StoreError, StoreUnavailableError
from leasehold.kernel.jobs import DueGroup, DueJob, DueSchedule, DueScope, DueUnreadable, FreedScope
from leasehold.kernel.keys import Due, is_asked_for, lanes_by_priority, service_lanes, shard_of
from leasehold.kernel.lean import dataclass
from leasehold.kernel.pool import InTurn, ahead
from leasehold.kernel.spans import span
from leasehold.kernel.telemetry import HEARTBEAT, POLL_SCANNED, Event
from leasehold.kernel.transitions import JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import datetime

    from leasehold.kernel.admission import Visits
    from leasehold.kernel.jobs import DueEntry, DuePage
    from leasehold.kernel.pool import Pool
    from leasehold.kernel.ports import Dispatcher
    from leasehold.kernel.registry import Switches
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record
    from leasehold.limits.model import ConcurrencyPolicy


POLL_LIMIT = 25
# An entry that could not be handled is tried again, and a lane that was left to others is looked at.
_FORGOTTEN_AFTER = timedelta(seconds=30)
_READ_AGAIN_AFTER = timedelta(milliseconds=500)
# A page that waited for its turn so long is read again, as others may have claimed what it shows.
_STALE_AFTER = timedelta(milliseconds=200)
# From here on it pays to be alone: the lock costs two writes, and saves a call for every further job.
_BACKLOG = 8
# Where there is no room for more hand-overs: how soon to look again, and how far to read for jobs of other types.
_LOOK_FOR_ROOM_AFTER = timedelta(milliseconds=500)
_PAGES_IN_VAIN = 20
# Plain jobs claimed by one request: so many leases a poller leaves to be reaped that dies before it handed them over.
_AT_ONCE = 25
# Whoever shares a backlog looks after others' shards, too: they may not have come, or be gone.
_LOOK_AT_OTHERS_AFTER = timedelta(seconds=2)
# So many pollers share the shards of a backlog.
MOST_POLLERS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PollSettings:
    """poll_limit: entries read per query. lower_share: part of it that busy higher lanes leave to each lower one.

    is_bounded: whether it waits for what it handed over to start before it hands over more: see window.py.
    leaves_to_wakes: for so long a scope that was just made due is left to whoever is on the way because of it.
    """

    poll_limit: int = POLL_LIMIT
    lower_share: float = 0.2
    is_bounded: bool = False
    leaves_to_wakes: timedelta = timedelta(0)


class Part(NamedTuple):
    """Which of the pollers that share a backlog, and so which shards it looks after first."""

    number: int
    of: int

    def has(self, shard: int, shards: int) -> bool:
        return self.number * shards // self.of <= shard < (self.number + 1) * shards // self.of


ALONE = Part(0, 1)


class Poller:
    """Claims what is due and hands it over. Any number may run at once; each claim is decided by its condition.

    pool: what runs side by side; None for a dispatcher that is to be called in turn.
    call_helper: starts another poller for a part of the shards, where a backlog is more than one's work. It may never
        come: parts say where to begin, and a free shard is anyone's.
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
        self.pool = pool or InTurn()
        self.call_helper = call_helper

    def poll(
        self,
        *,
        hints: Sequence[DueJob | DueScope | FreedScope] = (),
        lanes: Collection[str] | None = None,
        part: Part = ALONE,
        should_stop: Callable[[], str | None] = lambda: None,
    ) -> PollReport:
        """Work until nothing is due, `should_stop` names a reason, or the system is halted.

        A stop never interrupts a hand-over: it is noticed between two entries. `hints` are jobs that a stream has
        shown before the index may show them; they are claimed by the same condition as all others. `lanes` are those
        to visit, if not all; `part` is where to begin, so that pollers who share a backlog begin at different shards.
        """
        if not hints:  # a wake says that the stream is alive, which is no news of the tick
            self.services.telemetry.measure(HEARTBEAT, 1)
        run = _Run(self, should_stop, lanes, part)
        with span("poll") as polling:
            run.to_the_end(hints)
            polling.note(count=run.report.claimed)
        self.services.telemetry.measure(POLL_SCANNED, run.report.scanned)
        self.services.telemetry.event(Event.POLL_FINISHED, worker_id=self.worker_id, **run.report.as_fields())
        return run.report


@dataclass(slots=True)
class _Lane:
    name: str
    shard: int
    cursor: Record | None = None
    is_exhausted: bool = False
    is_contended: bool = False
    read_at: datetime | None = None
    pages: int = 0
    # Pages that showed only jobs that there is no room for.
    in_vain: int = 0


class _Run:
    """One poll."""

    def __init__(
        self,
        poller: Poller,
        should_stop: Callable[[], str | None],
        lanes: Collection[str] | None,
        part: Part,
    ) -> None:
        self.report = PollReport()
        self._services = poller.services
        self._worker_id = poller.worker_id
        self._settings = poller.settings
        self._pool = poller.pool
        self._should_stop = should_stop
        self._lanes = lanes
        self._part = part
        self._call_helper = poller.call_helper
        self._locks = ShardLocks(poller.services, poller.worker_id)
        self._gate = Gatekeeper(poller.services, poller.policy)
        self._window = poller.services.window if poller.settings.is_bounded else None
        self._handovers = HandOvers(
            poller.services,
            poller.dispatcher,
            poller.pool,
            self.report,
            window=self._window,
            should_stop=should_stop,
        )
        self._claims = Claims(
            poller.services,
            self._handovers,
            self._gate,
            worker_id=poller.worker_id,
            report=self.report,
            may_go_on=self._may_go_on,
        )
        self._visits: Visits | None = None
        # Due keys that were handled, or could not be; forgotten after a while, so that a long poll tries again.
        self._seen: dict[str, datetime] = {}
        # Lanes that another poller works off: it looks at them again after it has given up its lock.
        self._left_to_others: set[str] = set()
        self._backlogs: set[int] = set()
        # When whoever shares looked at the others' shards: they may not have come, or be gone.
        self._looked_at_others_at = poller.services.clock.now()

    def to_the_end(self, hints: Sequence[DueJob | DueScope | FreedScope]) -> None:
        if self._is_halted():
            for hint in hints:
                if isinstance(hint, FreedScope):
                    self._handle(hint, self._services.deployment.switches(), is_left=True)
            return
        try:
            self._take(hints)
            if hints and all(isinstance(hint, FreedScope) for hint in hints) and not self._has_guests:
                return  # a freed seat makes nothing else due
            names: Collection[str] | None = self._lanes
            while (again := self._sweep(names)) is not None and self.report.goes_on:
                names = again
                # Whoever found us holding a lock left its work to us: give the locks up first, then look once more.
                self._locks.give_up()
        finally:
            try:
                if self._visits is not None:
                    self._visits.close()
            finally:
                self._end()

    def _end(self) -> None:
        try:
            self._handovers.wait()
        finally:
            self._locks.give_up()

    def _take(self, hints: Sequence[DueJob | DueScope | FreedScope]) -> None:
        now = self._services.clock.now()
        switches = self._services.deployment.switches()
        for hint in hints:
            if not isinstance(hint, DueScope | FreedScope):
                continue
            is_handled = self._may_go_on() and self._handle(hint, switches)
            if isinstance(hint, FreedScope) and not is_handled:
                self._handle(hint, switches, is_left=True)
        jobs = [hint for hint in hints if isinstance(hint, DueJob)]
        due = [job for job in trusted_jobs(jobs, self._services) if job.due.at <= now]
        due = self._ready(due)
        due.sort(key=lambda hint: shard_of(hint.job_id))
        for shard, shown in groupby(due, key=lambda hint: shard_of(hint.job_id)):
            entries = self._with_room(list(shown), switches)
            # Without the lock they are claimed all the same: the index of whoever has it may not show them yet.
            is_locked = self._is_backlog(entries) and self._locks.take(shard)
            self._work_off(entries, switches, is_locked=is_locked, stop_at_lost_race=False)
        self._handovers.send_gathered()
        self._after_page()

    # --- which lanes

    def _sweep(self, names: Collection[str] | None) -> Collection[str] | None:
        """Work through these lanes once, or through all; then which to look at once more, or None if none."""
        levels = self._levels(names)
        lanes = [lane for level in levels for lane in level]
        self._forget_old()
        seen_before, done_before = len(self._seen), self._done_elsewhere()
        while any(not lane.is_exhausted for lane in lanes):
            is_busy_above = False
            self._reopen(lanes)
            looks_at_all = self._looks_at_all(lanes)
            for level in levels:
                found = False
                mine = level if looks_at_all else [lane for lane in level if self._is_mine(lane)]
                for lane, page in self._read(mine, self._limit(below_a_busy_lane=is_busy_above)):
                    if looks_at_all or self._is_mine(lane):  # others may have been called since it was read
                        found = self._visit(lane, page) or found
                    if not self.report.goes_on:
                        return ()
                is_busy_above = is_busy_above or found
        # Whoever waited is served a page at a time, so that what falls due meanwhile has its turn in between.
        has_guests = self._visits is not None and not self._is_halted() and self._visits.go_on()
        if not has_guests and len(self._seen) == seen_before:
            return None
        if self._done_elsewhere() != done_before:
            return self._lanes if self._lanes is not None else [name for names in self._all_levels() for name in names]
        return self._worth_a_look(lanes)

    def _levels(self, names: Collection[str] | None) -> list[list[_Lane]]:
        """The lanes by priority, in each of them the poll's own first shard first."""
        levels = []
        first_shard = self._part.number * self._shards // self._part.of
        for level in self._all_levels():
            lanes = [
                _Lane(name, shard, is_exhausted=name in self._left_to_others)
                for shard, name in enumerate(level)
                if names is None or name in names
            ]
            first = next((at for at, lane in enumerate(lanes) if lane.shard >= first_shard), 0)
            levels.append([*lanes[first:], *lanes[:first]])
        return levels

    @property
    def _shards(self) -> int:
        return self._services.deployment.registry().shards

    def _all_levels(self) -> list[list[str]]:
        return list(lanes_by_priority(self._shards))

    def _done_elsewhere(self) -> int:
        """What was done that may have made something due in any lane."""
        report = self.report
        return report.triggered + report.settled + report.reaped + report.expired + report.turned_away + report.held

    def _worth_a_look(self, lanes: Sequence[_Lane]) -> list[str]:
        """Lanes that showed something, those where features wait, and all that were not read for a while."""
        now = self._services.clock.now()
        also = set(service_lanes(self._shards)) if self.report.looked else set()
        is_long = max((lane.pages for lane in lanes), default=0) > 1 or self._visits is not None
        if is_long and self._lanes is None:
            read_lately = {lane.name for lane in lanes if lane.read_at and now - lane.read_at < _READ_AGAIN_AFTER}
            also |= {name for level in self._all_levels() for name in level if name not in read_lately}
        return [lane.name for lane in lanes if lane.pages and lane.name not in also] + sorted(also)

    def _reopen(self, lanes: Iterable[_Lane]) -> None:
        """While some lane takes long, what falls due in the others does not wait for its end."""
        now = self._services.clock.now()
        for lane in lanes:
            if lane.is_exhausted and lane.read_at is not None and now - lane.read_at >= _READ_AGAIN_AFTER:
                lane.cursor, lane.is_exhausted = None, lane.name in self._left_to_others
                lane.in_vain = 0

    def _is_mine(self, lane: _Lane) -> bool:
        return self._part.has(lane.shard, self._shards)

    def _looks_at_all(self, lanes: Sequence[_Lane]) -> bool:
        """Whoever shares a backlog looks after its own shards; at the others' once those are done, and now and then."""
        now = self._services.clock.now()
        is_busy = any(self._is_mine(lane) and not lane.is_exhausted for lane in lanes)
        if is_busy and self._part.of > 1 and now - self._looked_at_others_at < _LOOK_AT_OTHERS_AFTER:
            return False
        self._looked_at_others_at = now
        return True

    def _forget_old(self) -> None:
        now = self._services.clock.now()
        if any(now - at >= _FORGOTTEN_AFTER for at in self._seen.values()):
            self._seen = {key: at for key, at in self._seen.items() if now - at < _FORGOTTEN_AFTER}
            self._left_to_others.clear()

    def _limit(self, *, below_a_busy_lane: bool) -> int:
        limit = self._settings.poll_limit
        return max(1, int(limit * self._settings.lower_share)) if below_a_busy_lane else limit

    # --- one page

    def _read(self, level: Sequence[_Lane], limit: int) -> Iterable[tuple[_Lane, DuePage]]:
        """The next page of each lane that has one, read side by side."""

        def read(lane: _Lane) -> DuePage:
            lane.read_at = self._services.clock.now()
            return self._services.store.jobs.due(lane.name, lane.read_at, limit=limit, after=lane.cursor)

        for lane, page in ahead(self._pool, read, [lane for lane in level if not lane.is_exhausted]):
            assert lane.read_at is not None
            is_stale = page.entries and self._services.clock.now() - lane.read_at >= _STALE_AFTER
            yield lane, read(lane) if is_stale else page

    def _visit(self, lane: _Lane, page: DuePage) -> bool:
        """Handle one page of a lane; True if there was anything in it."""
        before, lane.cursor = lane.cursor, page.cursor
        lane.is_exhausted = page.cursor is None
        lane.pages += bool(page.entries)
        self.report.scanned += len(page.entries)
        unseen = [entry for entry in page.entries if entry.due_key not in self._seen and not self._is_awaited(entry)]
        fresh = trusted_entries(unseen, self._services)
        self._seen.update((entry.due_key, self._services.clock.now()) for entry in unseen if entry not in fresh)
        fresh = self._ready(fresh)
        # Read after the page: a pause that ended before the page was written is not mistaken for one that goes on.
        if not fresh or self._is_halted():
            return bool(page.entries)
        switches = self._services.deployment.switches()
        held_back_before = self.report.held_back
        fresh = self._with_room(fresh, switches)
        if not fresh:
            self._pass_by(lane)
            return True
        if self._is_backlog(page.entries) and not self._may_go_on_alone(lane):
            return True
        self._share_out(lane.shard, page)
        # Jobs first: what waited for a seat is a guest in this lane.
        fresh.sort(key=lambda entry: isinstance(entry, DueScope))
        entries, lane.is_contended = fresh[::-1] if lane.is_contended else fresh, False
        lost_before = self.report.lost_races
        self._work_off(entries, switches, is_locked=self._locks.has(lane.shard))
        if self.report.lost_races > lost_before:
            # The winner is one step ahead on the same page: read it again and meet the winner from the other end.
            lane.cursor, lane.is_exhausted, lane.is_contended = before, False, True
            self._may_go_on_alone(lane)
        elif self.report.held_back > held_back_before:
            lane.cursor, lane.is_exhausted = before, False  # there may be room for the others by now
        self._handovers.send_gathered(is_last=lane.is_exhausted)
        self._after_page()
        return True

    def _pass_by(self, lane: _Lane) -> None:
        """A page of jobs that have to wait: what is behind them does not. A lane full of them is read a part a poll."""
        assert self._window is not None
        given_up_at = self._window.given_up_at.pop(lane.name, None)
        lane.in_vain += 1
        if lane.is_exhausted:
            return
        if lane.in_vain >= _PAGES_IN_VAIN:
            lane.is_exhausted = True
            if lane.cursor is not None:
                self._window.given_up_at[lane.name] = lane.cursor
        elif given_up_at is not None:
            lane.cursor = given_up_at

    def _with_room[Entry: DueEntry](self, entries: list[Entry], switches: Switches) -> list[Entry]:
        """Without jobs that would only wait elsewhere; they stay due, and the waiting poller comes back for them."""
        if self._window is None:
            return entries
        plain = [entry for entry in entries if isinstance(entry, DueJob) and self._claims.is_plain(entry, switches)]
        admitted, is_full = self._window.admit(plain, self._services, self._may_go_on)
        if not is_full:
            return entries
        self.report.held_back += len(plain) - len(admitted)
        self.report.note_due(self._services.clock.now() + _LOOK_FOR_ROOM_AFTER)
        left = {entry.due_key for entry in plain} - {entry.due_key for entry in admitted}
        return [entry for entry in entries if entry.due_key not in left]

    def _ready[Entry: DueEntry](self, entries: Sequence[Entry]) -> list[Entry]:
        return ready(entries, self._services.deployment.registry(), self.report, self._services.clock.now())

    def _is_awaited(self, entry: DueEntry) -> bool:
        if not isinstance(entry, DueScope):
            return False
        due, now = Due.parse(entry.due_key), self._services.clock.now()
        return is_asked_for(entry.due_key) and now - due.at < self._settings.leaves_to_wakes

    def _is_backlog(self, entries: Sequence[DueEntry]) -> bool:
        return len(entries) >= min(_BACKLOG, self._settings.poll_limit)

    def _may_go_on_alone(self, lane: _Lane) -> bool:
        """Whether the shard's lock is ours; else its lane is left to whoever has it."""
        if self._locks.take(lane.shard):
            return True
        lane.is_exhausted = True
        self._left_to_others.add(lane.name)
        return False

    def _share_out(self, shard: int, page: DuePage) -> None:
        """Where several shards have a backlog, call others; whoever shares keeps no more locks than its part.

        Jobs are spread over the shards: one that has more than a page is not the only one.
        """
        if self._is_backlog(page.entries):
            self._backlogs.add(shard)
        is_large = page.cursor is not None and len(page.entries) >= self._settings.poll_limit
        pollers = min(self._shards, MOST_POLLERS)
        if self._call_helper is None or self._part.of > 1 or pollers < 2 or not (is_large or len(self._backlogs) > 1):
            return
        self._part = Part(0, pollers)
        self._looked_at_others_at = self._services.clock.now()
        for _ in ahead(self._pool, self._call_helper, [Part(number, pollers) for number in range(1, pollers)]):
            pass

    def _work_off(
        self,
        entries: Sequence[DueEntry],
        switches: Switches,
        *,
        is_locked: bool = False,
        stop_at_lost_race: bool = True,
    ) -> None:
        """Handle these; whoever has the lock is alone here, and claims as many as may be at once together."""
        stride = _AT_ONCE if is_locked else 1
        lost_before = self.report.lost_races
        for begin in range(0, len(entries), stride):
            has_lost = stop_at_lost_race and self.report.lost_races > lost_before
            if has_lost or not self._may_go_on():
                return
            self._take_stride(entries[begin : begin + stride], switches, stop_at_lost_race=stop_at_lost_race)

    def _take_stride(self, entries: Sequence[DueEntry], switches: Switches, *, stop_at_lost_race: bool) -> None:
        lost_before = self.report.lost_races
        # What owes something first is not to be claimed yet.
        jobs = [entry for entry in entries if isinstance(entry, DueJob) and entry.due.afterwards is None]
        self._claims.take_ahead(jobs, switches)
        for position, entry in enumerate(entries):
            has_lost = stop_at_lost_race and self.report.lost_races > lost_before
            # What nobody decided yet will be read again.
            if has_lost and not (isinstance(entry, DueJob) and self._claims.has_taken(entry)):
                continue
            if position and not self._may_go_on():
                break
            self._seen[entry.due_key] = self._services.clock.now()
            self._handle(entry, switches)
        self._claims.end_page()

    # --- one entry

    @property
    def _has_guests(self) -> bool:
        return self._visits is not None and self._visits.is_open

    def _handle(self, entry: DueEntry | FreedScope, switches: Switches, *, is_left: bool = False) -> bool:
        """False if it failed. `is_left`: a freed seat is not looked for now; nothing but its scope would tell of it."""
        try:
            match entry:
                case DueScope():
                    self._open_visits().begin(entry, switches)
                case FreedScope() if is_left:
                    self._open_visits().look_later(entry.scope)
                case FreedScope():
                    self._open_visits().look_now(entry.scope, switches)
                case DueJob():
                    self._handle_job(entry, switches)
                case DueSchedule():
                    from leasehold.schedules.trigger import trigger

                    self.report.triggered += len(trigger(entry.name, self._services))
                case DueGroup():
                    from leasehold.groups.stop import tend

                    self.report.settled += tend(
                        entry, self._services, worker_id=self._worker_id, may_go_on=self._may_go_on
                    )
                case DueUnreadable():
                    raise StoreError(f"this due entry cannot be read: {entry.problem}")
                case _:
                    assert_never(entry)
        except StoreUnavailableError:
            raise
        except Exception as error:
            self.report.failed += 1
            code = error.code if isinstance(error, LeaseholdError) else type(error).__name__
            named = entry.scope if isinstance(entry, FreedScope) else entry.due_key
            self._services.telemetry.event(Event.ENTRY_FAILED, entry=named, error_code=code, error=str(error))
            return False
        return True

    def _handle_job(self, entry: DueJob, switches: Switches) -> None:
        match entry.status:
            case JobStatus.PENDING | JobStatus.FAILED if entry.due.afterwards is not None:
                from leasehold.kernel.end import settle

                self.report.settled += settle(entry, self._services)
            case JobStatus.PENDING | JobStatus.FAILED:
                self._claims.offer(entry, switches)
            case JobStatus.IN_PROGRESS:
                from leasehold.kernel.reap import reap

                self.report.reaped += reap(entry, self._services)
            case JobStatus.COMPLETED | JobStatus.CANCELLED | JobStatus.DEAD_LETTER:
                from leasehold.kernel.end import settle

                self.report.settled += settle(entry, self._services)
            case _:
                assert_never(entry.status)

    def _after_page(self) -> None:
        self._gate.after_page()
        if self._visits is not None:
            self._visits.after_page()

    def _open_visits(self) -> Visits:
        if self._visits is None:
            self._visits = self._gate.opened.visits(
                self._claims,
                page_limit=self._settings.poll_limit,
                lower_share=self._settings.lower_share,
                may_go_on=self._may_go_on,
            )
        return self._visits

    def _may_go_on(self) -> bool:
        reason = self._should_stop()
        if reason is not None:
            self.report.stopped_by = reason
        return self.report.goes_on

    def _is_halted(self) -> bool:
        halt = self._services.deployment.switches(fresh=True).halt
        if halt is None:
            return False
        self.report.stopped_by = HALT
        self._services.telemetry.event(
            Event.POLL_PAUSED, message="job worker paused due to system halt", by=halt.by, reason=halt.reason
        )
        return True


NOTHING_DUE = "nothing due"
HALT = "halt"


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
