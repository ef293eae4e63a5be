"""The waiting poller: it stays and waits for what falls due soon, so that a scheduled job starts on time and not at the
next tick.

At most one poller waits: whoever has the waiter lease. A tick takes it from whoever has it, since its own time is the
longest; a wake, which must not wait because it holds up its stream, starts a waiting poller where there is none.

It knows when each lane is next due, and reads it again at that time; what comes sooner it hears of from wakes.
"""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING

from leasehold.kernel.jobs import DueJob
from leasehold.kernel.keys import make_nonce
from leasehold.kernel.lanes import all_lanes, service_lanes
from leasehold.kernel.poll import HALT
from leasehold.lean import dataclass
from leasehold.pool import ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from leasehold.kernel.other_entries import DueScope
    from leasehold.kernel.poll import Poller, PollReport
    from leasehold.kernel.services import Services

_SHORTEST_GAP = timedelta(milliseconds=100)
_LONGEST_GAP = timedelta(seconds=10)
# Where jobs are held back until others have started: nothing but a look tells of that.
_LONGEST_GAP_FOR_ROOM = timedelta(seconds=1)
_CHECK_EVERY = timedelta(seconds=5)
_RESERVED_FOR = timedelta(seconds=10)
# Where wakes tell what falls due: for those that were lost.
REREAD_BESIDE_WAKES = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingSettings:
    """stay: how long it waits; longer than a minute, so that the next tick finds it there.

    look_every: how soon it notices a job that became due before the one it waits for.
    reread_every: how often it reads a lane anew before its next entry is due. Where wakes tell it what falls due
        (`reserve`), this may be seldom; else it is how it notices.
    poll_interval: below a minute, a tick stays and polls at this interval whatever is due; None for no such polls.
    """

    stay: timedelta = timedelta(seconds=75)
    look_every: timedelta = timedelta(milliseconds=500)
    reread_every: timedelta = timedelta(milliseconds=500)
    poll_interval: timedelta | None = None


class _Leaving(Enum):
    REPLACED = auto()
    NOTHING_IS_NEAR = auto()
    TIME_IS_UP = auto()


@dataclass(slots=True)
class _Stay:
    leave_at: datetime
    should_stop: Callable[[], str | None]
    polls: int = 0
    polled_at: datetime | None = None
    # How long to wait after a poll that could not handle what is due.
    gap: timedelta = _SHORTEST_GAP
    # What its own poll, or a wake, knows to fall due, wherever that is; until all lanes were polled at that time.
    noted: datetime | None = None
    told: datetime | None = None

    @property
    def known(self) -> list[datetime]:
        return [at for at in (self.noted, self.told) if at is not None]


class WaitingPoller:
    def __init__(
        self, services: Services, poller: Poller, *, worker_id: str, settings: WaitingSettings | None = None
    ) -> None:
        self._services = services
        self._poller = poller
        self._worker_id = worker_id
        self._settings = settings or WaitingSettings()
        # When each lane was read, and when it is due next.
        self._read: dict[str, tuple[datetime, datetime | None]] = {}

    # --- for a wake

    def reserve(
        self,
        hints: Sequence[DueJob | DueScope] = (),
        soonest_at: datetime | None = None,
        lanes: Collection[str] | None = None,
    ) -> str | None:
        """The name under which another invocation shall wait; None if nothing is near, or one waits already.

        What the stream has shown, or the wake's own poll has put off until `soonest_at`, may not be in the index yet:
        whoever waits already is told of it. `lanes` are those that the wake has visited, if not all.
        """
        now = self._services.clock.now()
        horizon = now + self._settings.stay
        shown = [hint.due.at for hint in hints if isinstance(hint, DueJob) and hint.due.at > now]
        near = [at for at in (*shown, *([soonest_at] if soonest_at else [])) if at <= horizon]
        if not near and not _is_near(self._next_due_at(lanes), horizon):
            return None
        holder = make_nonce(self._services.random_source, self._worker_id)
        # Only until the other has acquired it: one that never comes must not keep the place empty.
        if self._services.store.pollers.acquire_waiter_lease(holder, now, now + _RESERVED_FOR, from_anyone=False):
            return holder
        if near:
            self._services.store.pollers.note_due(max(now, min(near)))
        return None

    # --- for whoever waits

    def stay(self, *, holder: str | None = None, should_stop: Callable[[], str | None] = lambda: None) -> int:
        """Wait for what is near and poll when it is due; returns the number of polls. A tick has no `holder` yet."""
        stay = _Stay(leave_at=self._services.clock.now() + self._settings.stay, should_stop=should_stop)
        # What a wake has reserved is taken, unless this came too late and somebody else has it.
        if holder is not None and not self._acquire(holder, stay.leave_at, from_anyone=False):
            return 0
        while holder is not None or self._is_wanted(stay.leave_at, self._upcoming(stay)):
            if holder is None:
                holder = make_nonce(self._services.random_source, self._worker_id)
                self._acquire(holder, stay.leave_at, from_anyone=True)
            why = self._wait_and_poll(holder, stay)
            if why is _Leaving.REPLACED:
                break
            # Give the lease up before the last look: who finds it taken until then relies on that look.
            self._services.store.pollers.release_waiter_lease(holder)
            self._read.clear()
            holder = stay.told = None
            if why is _Leaving.TIME_IS_UP:
                self._poll(stay, None)
                break
        return stay.polls

    def _wait_and_poll(self, holder: str, stay: _Stay) -> _Leaving:
        clock = self._services.clock
        checked_at = clock.now()
        while stay.should_stop() is None and clock.now() < stay.leave_at:
            now = clock.now()
            upcoming = self._upcoming(stay)
            if self._is_time_to_poll(now, upcoming, stay):
                if self._poll(stay, self._due_lanes(stay, now)).stopped_by == HALT:
                    return _Leaving.TIME_IS_UP
                continue
            if not self._is_wanted(stay.leave_at, upcoming):
                return _Leaving.NOTHING_IS_NEAR
            if now - checked_at >= self._check_every:
                checked_at = now
                waiting, told = self._services.store.pollers.waiter_lease()
                if waiting != holder:
                    return _Leaving.REPLACED
                stay.told = told
            clock.sleep(self._pause(now, upcoming, stay))
        return _Leaving.TIME_IS_UP

    @property
    def _check_every(self) -> timedelta:
        is_told = self._settings.reread_every > self._settings.look_every
        return self._settings.look_every if is_told else _CHECK_EVERY

    def _upcoming(self, stay: _Stay) -> datetime | None:
        """When something falls due, as the lanes say, or a wake that the lanes may not have shown yet."""
        return min((at for at in (self._next_due_at(), *stay.known) if at is not None), default=None)

    def _is_time_to_poll(self, now: datetime, upcoming: datetime | None, stay: _Stay) -> bool:
        since_last = now - stay.polled_at if stay.polled_at else timedelta.max
        interval = self._settings.poll_interval
        if interval is not None and since_last >= interval:
            return True
        # The gap keeps an entry that cannot be handled from turning the wait into a busy loop.
        return upcoming is not None and upcoming <= now and since_last >= stay.gap

    def _due_lanes(self, stay: _Stay, now: datetime) -> Collection[str] | None:
        """The lanes that are known to be due, and those where features wait; None where any may be."""
        if self._settings.poll_interval is not None or any(at <= now for at in stay.known):
            return None
        due = [lane for lane, (_, at) in self._read.items() if at is not None and at <= now]
        return {*due, *service_lanes(self._services.deployment.registry().shards)}

    def _poll(self, stay: _Stay, lanes: Collection[str] | None) -> PollReport:
        began_at = self._services.clock.now()
        report = self._poller.poll(lanes=lanes, should_stop=stay.should_stop)
        stay.polls += 1
        stay.polled_at = self._services.clock.now()
        if lanes is None and report.goes_on:
            self._forget_known(stay, began_at)
        longest = _LONGEST_GAP_FOR_ROOM if report.held_back else _LONGEST_GAP
        stay.gap = _SHORTEST_GAP if has_moved_on(report) else min(2 * stay.gap, longest)
        for lane in list(self._read) if lanes is None else lanes:
            self._read.pop(lane, None)
        if report.soonest_at is not None:
            stay.noted = min(report.soonest_at, stay.noted or report.soonest_at)
        return report

    def _forget_known(self, stay: _Stay, polled_at: datetime) -> None:
        """All lanes were polled then: a note that stayed would keep every later one out."""
        if stay.noted is not None and stay.noted <= polled_at:
            stay.noted = None
        if stay.told is not None and stay.told <= polled_at:
            self._services.store.pollers.forget_due(stay.told)
            stay.told = None

    def _pause(self, now: datetime, upcoming: datetime | None, stay: _Stay) -> timedelta:
        pause = self._settings.look_every
        if upcoming is None:
            return pause
        poll_at = max(upcoming, stay.polled_at + stay.gap) if stay.polled_at else upcoming
        return min(pause, poll_at - now)

    def _is_wanted(self, leave_at: datetime, upcoming: datetime | None) -> bool:
        return self._settings.poll_interval is not None or _is_near(upcoming, leave_at)

    def _acquire(self, holder: str, until: datetime, *, from_anyone: bool) -> bool:
        pollers, now = self._services.store.pollers, self._services.clock.now()
        return pollers.acquire_waiter_lease(holder, now, until, from_anyone=from_anyone)

    def _next_due_at(self, lanes: Collection[str] | None = None) -> datetime | None:
        """When a lane next needs a poll. A lane is read anew when its time has come, and now and then."""
        now = self._services.clock.now()
        every_lane = all_lanes(self._services.deployment.registry().shards)
        unknown = [each for each in every_lane if (lanes is None or each in lanes) and not self._is_known(each, now)]
        for lane, due_at in ahead(self._services.pool, self._services.store.listings.next_due, unknown):
            self._read[lane] = (now, due_at)
        return min((at for _, at in self._read.values() if at is not None), default=None)

    def _is_known(self, lane: str, now: datetime) -> bool:
        read_at, due_at = self._read.get(lane, (None, None))
        is_fresh = read_at is not None and timedelta(0) <= now - read_at < self._settings.reread_every
        return is_fresh and (due_at is None or due_at > now)


def has_moved_on(report: PollReport) -> bool:
    """Whether anything that was due is not so any more."""
    return report.claimed + report.moved_elsewhere + report.looked > 0


def _is_near(upcoming: datetime | None, horizon: datetime) -> bool:
    return upcoming is not None and upcoming <= horizon
