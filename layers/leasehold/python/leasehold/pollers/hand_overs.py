"""Hand-overs side by side, where there is a pool; in batches, where types ask for them; and bounded by the window."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from leasehold.kernel.claim import Delivery, HandOvers
from leasehold.kernel.ports import Dispatcher
from leasehold.telemetry.spans import current_trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.batches.gather import Gathering
    from leasehold.kernel.claim import Claim
    from leasehold.kernel.poll import Poll
    from leasehold.kernel.ports import Handover
    from leasehold.pool import Pending

# What waited so long in the pool, where others hang, is put back once the poll has to end.
_HANGS_AFTER = timedelta(seconds=2)
_THROTTLES = ("TooManyRequests", "Throttl", "EC2Throttled")


@runtime_checkable
class BatchDispatcher(Dispatcher, Protocol):
    """A dispatcher that reaches a handler with several jobs at once; others hand each over by itself."""

    def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
        """Hand claimed jobs of one type to one invocation; raise DispatchError if that fails for all of them."""


class SideBySide(HandOvers):
    def __init__(self, poll: Poll) -> None:
        super().__init__(poll)
        self._pool = poll.poller.pool
        self._window = self.services.window
        self._under_way: deque[tuple[Sequence[Claim], Pending[list[Delivery]]]] = deque()
        # Jobs that wait for others of their type to share an invocation with.
        self._gathering: Gathering | None = None

    def begin(self, claim: Claim) -> None:
        now = self.services.clock.now()
        if claim.job_type.batch is None or not isinstance(self.dispatcher, BatchDispatcher):
            self._begin([claim], now)
            return
        if self._gathering is None:
            from leasehold.features import Gathering

            self._gathering = Gathering()
        batch = self._gathering.add(claim, now)
        if batch is not None:
            self._begin(batch, now)

    def _begin(self, claims: Sequence[Claim], now: datetime) -> None:
        for each in claims:
            if self._window is not None and each.admitted is None:
                self._window.note_handed_over(each.handover, now)
        if self._pool is None:
            self.end(claims, lambda: self.deliver(claims))
            return
        trace = current_trace()  # another thread does not know the poll's
        self._under_way.append((claims, self._pool.submit(lambda: self._deliver_in_time(claims, trace, now))))

    def send_gathered(self, *, is_last: bool) -> None:
        if self._gathering is not None:
            now = self.services.clock.now()
            for batch in self._gathering.take(now, all_of_them=is_last):
                self._begin(batch, now)

    def wait(self, *, at_most: int = 0) -> None:
        if not at_most:
            self.send_gathered(is_last=True)
        while len(self._under_way) > at_most:
            self._end_oldest()
        self.collect()

    def collect(self) -> None:
        while self._under_way and self._under_way[0][1].done():
            self._end_oldest()
        super().collect()

    def _end_oldest(self) -> None:
        claims, pending = self._under_way.popleft()
        self.end(claims, pending.result)

    def _deliver_in_time(self, claims: Sequence[Claim], trace: str | None, since: datetime) -> list[Delivery]:
        """In the pool: behind others that hang it may be too late for it."""
        now, should_stop = self.services.clock.now(), self.poll.should_stop
        stop = should_stop() if should_stop is not None and now - since >= _HANGS_AFTER else None
        if stop is None:
            return self.deliver(claims, trace)
        from leasehold.kernel.release import release

        reason = f"not handed over: {stop}"
        return [Delivery(is_back=release(each.handover, reason, self.services, until=now)) for each in claims]

    def dispatch(self, claims: Sequence[Claim]) -> None:
        if len(claims) > 1 and isinstance(self.dispatcher, BatchDispatcher):
            self.dispatcher.dispatch_batch([each.handover for each in claims], claims[0].job_type.function)
        else:
            super().dispatch(claims)

    def count(self, claim: Claim, delivery: Delivery) -> None:
        if self._window is not None and not delivery.is_delivered:
            is_throttled = any(word in str(delivery.error) for word in _THROTTLES)
            self._window.note_refused(claim.handover, throttled=is_throttled)
        super().count(claim, delivery)
