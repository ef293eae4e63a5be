"""Reside: stay and wait for what falls due soon, so that a scheduled job starts on time and not at the next tick.

At most one poller resides. A tick takes over from whoever resides, since its own time is the longest; a wake, which
must not wait because it holds up its stream, starts a resident where there is none.
"""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING

from leasehold.domain.due import lanes_by_priority
from leasehold.domain.lean import dataclass
from leasehold.engine.ports import make_nonce
from leasehold.kernel.report import HALT
from leasehold.store.jobs import DueJob

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.engine.parts import Parts
    from leasehold.kernel.poll import Poller
    from leasehold.store.jobs import DueScope

_SHORTEST_GAP = timedelta(milliseconds=100)
_LONGEST_GAP = timedelta(seconds=10)
_CHECK_EVERY = timedelta(seconds=5)
_RESERVATION = timedelta(seconds=10)
# Where wakes tell what falls due: for what is still on its way in a stream that has much to carry.
REREAD_BESIDE_WAKES = timedelta(seconds=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidenceSettings:
    """stay: how long a resident stays; longer than a minute, so that the next tick finds it there.

    look_every: how soon a resident notices a job that became due before the one it waits for.
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
class _Visit:
    leave_at: datetime
    should_stop: Callable[[], str | None]
    polls: int = 0
    polled_at: datetime | None = None
    # How long to wait after a poll that could not handle what is due.
    gap: timedelta = _SHORTEST_GAP
    # What was noted for it by a wake.
    noted: datetime | None = None


class Resident:
    def __init__(
        self, parts: Parts, poller: Poller, *, worker_id: str, settings: ResidenceSettings | None = None
    ) -> None:
        self._parts = parts
        self._poller = poller
        self._worker_id = worker_id
        self._settings = settings or ResidenceSettings()
        # When each lane was read, and when it is due next.
        self._read: dict[str, tuple[datetime, datetime | None]] = {}

    def reserve(self, hints: Sequence[DueJob | DueScope] = (), soonest_at: datetime | None = None) -> str | None:
        """For a wake: the name under which another invocation shall reside; None if nothing is near or one does.

        What the stream has shown, or the wake's own poll has put off until `soonest_at`, may not be in the index yet:
        whoever resides already is told of it.
        """
        now = self._parts.clock.now()
        horizon = now + self._settings.stay
        shown = [hint.due.at for hint in hints if isinstance(hint, DueJob) and hint.due.at > now]
        near = [at for at in (*shown, *([soonest_at] if soonest_at else [])) if at <= horizon]
        if not near and not self._is_near(self._next_due_at(), horizon):
            return None
        holder = make_nonce(self._parts.chance, self._worker_id)
        # Only until the resident has moved in: one that never comes must not keep the place empty.
        until = now + _RESERVATION
        if self._parts.store.switchboard.take_residency(holder, now, until, from_anyone=False):
            return holder
        if near:
            self._parts.store.switchboard.note_due(max(now, min(near)))
        return None

    def stay(self, *, holder: str | None = None, should_stop: Callable[[], str | None] = lambda: None) -> int:
        """Wait for what is near and poll when it is due; returns the number of polls. A tick has no `holder` yet."""
        visit = _Visit(leave_at=self._parts.clock.now() + self._settings.stay, should_stop=should_stop)
        if holder is not None and not self._moves_into(holder, visit.leave_at):
            return 0
        while holder is not None or self._is_wanted(visit.leave_at, self._upcoming(visit)):
            holder = holder or self._move_in(visit.leave_at)
            why = self._wait_and_poll(holder, visit)
            if why is _Leaving.REPLACED:
                break
            # Give the place up before the last look: who finds it taken until then relies on that look.
            self._parts.store.switchboard.leave_residency(holder)
            self._read.clear()
            holder = None
            if why is _Leaving.TIME_IS_UP:
                self._poll(visit)
                break
        return visit.polls

    def _wait_and_poll(self, holder: str, visit: _Visit) -> _Leaving:
        clock = self._parts.clock
        checked_at = clock.now()
        while visit.should_stop() is None and clock.now() < visit.leave_at:
            now = clock.now()
            upcoming = self._upcoming(visit)
            if self._is_time_to_poll(now, upcoming, visit):
                if self._poll(visit) == HALT:
                    return _Leaving.TIME_IS_UP
                continue
            if not self._is_wanted(visit.leave_at, upcoming):
                return _Leaving.NOTHING_IS_NEAR
            if now - checked_at >= self._check_every:
                checked_at = now
                resident, visit.noted = self._parts.store.switchboard.residency()
                if resident != holder:
                    return _Leaving.REPLACED
            clock.sleep(self._pause(now, upcoming))
        return _Leaving.TIME_IS_UP

    @property
    def _check_every(self) -> timedelta:
        is_told = self._settings.reread_every > self._settings.look_every
        return self._settings.look_every if is_told else _CHECK_EVERY

    def _upcoming(self, visit: _Visit) -> datetime | None:
        """When something falls due, as the lanes say, or a wake that the lanes may not have shown yet."""
        noted = visit.noted if visit.noted and (visit.polled_at is None or visit.noted > visit.polled_at) else None
        return min((at for at in (self._next_due_at(), noted) if at is not None), default=None)

    def _is_time_to_poll(self, now: datetime, upcoming: datetime | None, visit: _Visit) -> bool:
        since_last = now - visit.polled_at if visit.polled_at else timedelta.max
        interval = self._settings.poll_interval
        if interval is not None and since_last >= interval:
            return True
        # The gap keeps an entry that cannot be handled from turning the wait into a busy loop.
        return upcoming is not None and upcoming <= now and since_last >= visit.gap

    def _poll(self, visit: _Visit) -> str:
        report = self._poller.poll(should_stop=visit.should_stop)
        visit.polls += 1
        visit.polled_at = self._parts.clock.now()
        visit.gap = _SHORTEST_GAP if report.has_moved_on else min(2 * visit.gap, _LONGEST_GAP)
        self._read.clear()
        if report.soonest_at is not None:
            visit.noted = min(report.soonest_at, visit.noted or report.soonest_at)
        return report.stopped_by

    def _pause(self, now: datetime, upcoming: datetime | None) -> timedelta:
        pause = self._settings.look_every
        return pause if upcoming is None else max(min(pause, upcoming - now), _SHORTEST_GAP / 10)

    def _is_wanted(self, leave_at: datetime, upcoming: datetime | None) -> bool:
        return self._settings.poll_interval is not None or self._is_near(upcoming, leave_at)

    def _is_near(self, upcoming: datetime | None, horizon: datetime) -> bool:
        return upcoming is not None and upcoming <= horizon

    def _moves_into(self, holder: str, leave_at: datetime) -> bool:
        """Take the place that a wake reserved, unless it came too late and somebody else has it."""
        now = self._parts.clock.now()
        return self._parts.store.switchboard.take_residency(holder, now, leave_at, from_anyone=False)

    def _move_in(self, leave_at: datetime) -> str:
        holder = make_nonce(self._parts.chance, self._worker_id)
        now = self._parts.clock.now()
        self._parts.store.switchboard.take_residency(holder, now, leave_at, from_anyone=True)
        return holder

    def _next_due_at(self) -> datetime | None:
        """When a lane next needs a poll. A lane is read anew when its time has come, and now and then."""
        now = self._parts.clock.now()
        for level in lanes_by_priority(self._parts.deployment.registry().shards):
            for lane in level:
                read_at, due_at = self._read.get(lane, (None, None))
                is_known = read_at is not None and timedelta(0) <= now - read_at < self._settings.reread_every
                if not is_known or (due_at is not None and due_at <= now):
                    self._read[lane] = (now, self._parts.store.jobs.next_due(lane))
        return min((at for _, at in self._read.values() if at is not None), default=None)
