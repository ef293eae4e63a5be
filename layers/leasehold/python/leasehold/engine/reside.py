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
from leasehold.engine.report import HALT

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.engine.parts import Parts
    from leasehold.engine.poll import Poller

_SHORTEST_GAP = timedelta(milliseconds=100)
_CHECK_EVERY = timedelta(seconds=5)
_RESERVATION = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidenceSettings:
    """stay: how long a resident stays; longer than a minute, so that the next tick finds it there.

    look_every: how soon a resident notices a job that became due before the one it waits for.
    poll_interval: below a minute, a tick stays and polls at this interval whatever is due; None for no such polls.
    """

    stay: timedelta = timedelta(seconds=75)
    look_every: timedelta = timedelta(milliseconds=500)
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


class Resident:
    def __init__(
        self, parts: Parts, poller: Poller, *, worker_id: str, settings: ResidenceSettings | None = None
    ) -> None:
        self._parts = parts
        self._poller = poller
        self._worker_id = worker_id
        self._settings = settings or ResidenceSettings()

    def reserve(self) -> str | None:
        """For a wake: the name under which another invocation shall reside; None if nothing is near or one does."""
        now = self._parts.clock.now()
        if not self._is_near(self._next_due_at(), now + self._settings.stay):
            return None
        holder = make_nonce(self._parts.chance, self._worker_id)
        # Only until the resident has moved in: one that never comes must not keep the place empty.
        until = now + _RESERVATION
        reserved = self._parts.store.switchboard.take_residency(holder, now, until, from_anyone=False)
        return holder if reserved else None

    def stay(self, *, holder: str | None = None, should_stop: Callable[[], str | None] = lambda: None) -> int:
        """Wait for what is near and poll when it is due; returns the number of polls. A tick has no `holder` yet."""
        visit = _Visit(leave_at=self._parts.clock.now() + self._settings.stay, should_stop=should_stop)
        if holder is not None and not self._moves_into(holder, visit.leave_at):
            return 0
        while holder is not None or self._is_wanted(visit.leave_at):
            holder = holder or self._move_in(visit.leave_at)
            why = self._wait_and_poll(holder, visit)
            if why is _Leaving.REPLACED:
                break
            # Give the place up before the last look: who finds it taken until then relies on that look.
            self._parts.store.switchboard.leave_residency(holder)
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
            upcoming = self._next_due_at()
            if self._is_time_to_poll(now, upcoming, visit):
                if self._poll(visit) == HALT:
                    return _Leaving.TIME_IS_UP
                continue
            if not self._is_wanted(visit.leave_at):
                return _Leaving.NOTHING_IS_NEAR
            if now - checked_at >= _CHECK_EVERY:
                checked_at = now
                if not self._parts.store.switchboard.is_resident(holder):
                    return _Leaving.REPLACED
            clock.sleep(self._pause(now, upcoming))
        return _Leaving.TIME_IS_UP

    def _is_time_to_poll(self, now: datetime, upcoming: datetime | None, visit: _Visit) -> bool:
        since_last = now - visit.polled_at if visit.polled_at else timedelta.max
        interval = self._settings.poll_interval
        if interval is not None and since_last >= interval:
            return True
        # The gap keeps an entry that cannot be handled from turning the wait into a busy loop.
        return upcoming is not None and upcoming <= now and since_last >= _SHORTEST_GAP

    def _poll(self, visit: _Visit) -> str:
        report = self._poller.poll(should_stop=visit.should_stop)
        visit.polls += 1
        visit.polled_at = self._parts.clock.now()
        return report.stopped_by

    def _pause(self, now: datetime, upcoming: datetime | None) -> timedelta:
        pause = self._settings.look_every
        return pause if upcoming is None else max(min(pause, upcoming - now), _SHORTEST_GAP / 10)

    def _is_wanted(self, leave_at: datetime) -> bool:
        return self._settings.poll_interval is not None or self._is_near(self._next_due_at(), leave_at)

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
        shards = self._parts.deployment.registry().shards
        lanes = (lane for level in lanes_by_priority(shards) for lane in level)
        return min((at for lane in lanes if (at := self._parts.store.jobs.next_due(lane)) is not None), default=None)
