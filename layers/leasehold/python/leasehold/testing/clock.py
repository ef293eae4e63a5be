"""A clock that moves only when told to, and chance that repeats."""

from __future__ import annotations

import random
import threading
from datetime import UTC, datetime, timedelta

from leasehold.kernel.times import instant

DEFAULT_START = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """
    >>> clock = FakeClock()
    >>> clock.advance(timedelta(hours=1)).isoformat()
    '2026-01-01T01:00:00+00:00'
    """

    def __init__(self, start: datetime = DEFAULT_START) -> None:
        self._now = instant(start)
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            return self._now

    def advance(self, duration: timedelta) -> datetime:
        with self._lock:
            self._now = instant(self._now + duration)
            return self._now

    def move_to(self, moment: datetime) -> None:
        """Move forward to a moment; a moment that has passed changes nothing."""
        with self._lock:
            self._now = max(self._now, instant(moment))

    def sleep(self, duration: timedelta) -> None:
        """Sleeping takes no time: the clock moves on instead."""
        self.advance(duration)


class SeededRandomSource:
    """The same seed, the same ids, tokens and jitter."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def bits(self, count: int) -> int:
        with self._lock:
            return self._random.getrandbits(count)

    def share(self) -> float:
        with self._lock:
            return self._random.random()
