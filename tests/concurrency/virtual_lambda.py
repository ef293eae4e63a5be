"""Lambda, the stream and the minute tick in virtual time: hours of a queue's life in seconds.

What it keeps of Lambda: a function runs at most `concurrency` invocations at once; asynchronous events beyond that wait
in Lambda's own queue and are dropped, untold, when they get older than `max_event_age`. What it keeps of the stream: a
poll follows each change that made something due, `WAKE_LATENCY` later. What it leaves out: failures, cold starts.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from leasehold.kernel.execute import Attempt, Executor
from leasehold.kernel.lanes import lanes_by_priority
from leasehold.kernel.poll import Poller

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.kernel.ports import Handover
    from leasehold.testing import LeaseholdTest

TICK = timedelta(minutes=1)
WAKE_LATENCY = timedelta(milliseconds=250)
INVOKE_LATENCY = timedelta(milliseconds=50)
_LANES = [lane for level in lanes_by_priority(1) for lane in level]


@dataclass(order=True)
class _Happening:
    at: datetime
    number: int
    happen: Callable[[], None] = field(compare=False)


class Timeline:
    """Things that happen in virtual time, each at its moment and in order."""

    def __init__(self, test: LeaseholdTest) -> None:
        self._clock = test.clock
        self._numbers = count()
        self._happenings: list[_Happening] = []

    def after(self, delay: timedelta, happen: Callable[[], None]) -> None:
        self.at(self._clock.now() + delay, happen)

    def at(self, moment: datetime, happen: Callable[[], None]) -> None:
        heapq.heappush(self._happenings, _Happening(moment, next(self._numbers), happen))

    def step(self) -> None:
        next_one = heapq.heappop(self._happenings)
        self._clock.move_to(next_one.at)
        next_one.happen()


class VirtualLambda:
    """One function whose handler takes `duration`. It is the poller's dispatcher."""

    def __init__(self, test: LeaseholdTest, *, concurrency: int, duration: timedelta, max_event_age: timedelta) -> None:
        self.timeline = Timeline(test)
        self.most_running = 0
        self.completed = 0
        self.dropped = 0
        self.polls = 0
        self._running = 0
        self._waiting: deque[tuple[datetime, Handover]] = deque()
        self._concurrency = concurrency
        self._duration = duration
        self._max_event_age = max_event_age
        self._test = test
        self._executor = Executor(test.services, worker_id="lambda")
        self._poller = Poller(test.services, self, worker_id="poller")
        self._next_poll_at: datetime | None = None
        self._tick()

    def run_until(self, is_done: Callable[[], bool], *, give_up_after: timedelta) -> timedelta:
        """How long it took, in virtual time."""
        started = self._test.clock.now()
        while not is_done():
            elapsed = self._test.clock.now() - started
            assert elapsed <= give_up_after, f"{self.completed} completed after {elapsed}"
            self.timeline.step()
        return self._test.clock.now() - started

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self._waiting.append((self._test.clock.now(), handover))
        self.timeline.after(INVOKE_LATENCY, self._start_what_fits)

    def _start_what_fits(self) -> None:
        now = self._test.clock.now()
        while self._waiting and (now - self._waiting[0][0] > self._max_event_age or self._running < self._concurrency):
            accepted_at, handover = self._waiting.popleft()
            if now - accepted_at > self._max_event_age:
                self.dropped += 1
                continue
            attempt = self._executor.begin(handover)
            if isinstance(attempt, Attempt):
                self._running += 1
                self.most_running = max(self.most_running, self._running)
                self.timeline.after(self._duration, partial(self._end, attempt))

    def _end(self, attempt: Attempt) -> None:
        attempt.complete(None)
        self._running -= 1
        self.completed += 1
        self._start_what_fits()
        self._wake()

    def _tick(self) -> None:
        self._poll()
        self.timeline.after(TICK, self._tick)

    def _wake(self) -> None:
        """Have a poll when something falls due: the stream sees to what is due now, a resident poller to the rest."""
        now = self._test.clock.now()
        upcoming = [at for lane in _LANES if (at := self._test.services.store.listings.next_due(lane)) is not None]
        if not upcoming or min(upcoming) >= now + TICK:
            return
        at = max(min(upcoming), now) + WAKE_LATENCY
        if self._next_poll_at is None or at < self._next_poll_at:
            self._next_poll_at = at
            self.timeline.at(at, self._poll_if_wanted)

    def _poll_if_wanted(self) -> None:
        if self._next_poll_at is not None and self._next_poll_at <= self._test.clock.now():
            self._poll()

    def _poll(self) -> None:
        self._next_poll_at = None
        self.polls += 1
        self._poller.poll()
        self._wake()
