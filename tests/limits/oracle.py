"""The oracle: what limits alone allow, where every call takes no time and whoever decides sees everything."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from itertools import count


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Jobs with the same limits. scopes: where each takes a seat. rates: where its start counts, and for how long."""

    jobs: int
    scopes: tuple[str, ...]
    rates: tuple[tuple[str, float], ...] = ()


@dataclass(slots=True)
class Oracle:
    """seats: how many each scope has, rates included. Lanes take turns."""

    seats: dict[str, int]
    seconds: float
    _events: list[tuple[float, int, tuple[str, ...], bool]] = field(default_factory=list)

    def ends(self, lanes: list[Lane]) -> list[float]:
        """When each job ends."""
        waiting = [lane.jobs for lane in lanes]
        taken: Counter[str] = Counter()
        ends: list[float] = []
        numbers, now, turn = count(), 0.0, 0
        while any(waiting) or self._events:
            passed = 0
            while passed < len(lanes):
                lane, at = lanes[turn % len(lanes)], turn % len(lanes)
                turn += 1
                needed = (*lane.scopes, *(scope for scope, _ in lane.rates))
                if not waiting[at] or any(taken[scope] >= self.seats[scope] for scope in needed):
                    passed += 1
                    continue
                passed = 0
                waiting[at] -= 1
                taken.update(needed)
                heapq.heappush(self._events, (now + self.seconds, next(numbers), lane.scopes, True))
                for scope, period in lane.rates:
                    heapq.heappush(self._events, (now + period, next(numbers), (scope,), False))
            if not self._events:
                break
            now = self._events[0][0]
            while self._events and self._events[0][0] <= now:
                _, _, scopes, is_end = heapq.heappop(self._events)
                taken.subtract(scopes)
                if is_end:
                    ends.append(now)
        return ends
