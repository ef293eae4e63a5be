"""Hand over: give a claimed job to its handler, side by side with others where there is a pool.

A hand-over that fails puts back only its own job. What a poll decides by stays on its own thread, which counts what
came of them.
"""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.errors import LeaseholdError, StoreUnavailableError
from leasehold.kernel.ports import BatchDispatcher
from leasehold.lean import dataclass
from leasehold.telemetry import Event
from leasehold.telemetry.spans import current_trace, span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.batches.gather import Gathering
    from leasehold.kernel.admission import Admitted
    from leasehold.kernel.page import PollReport
    from leasehold.kernel.pool import Pending, Pool
    from leasehold.kernel.ports import Dispatcher, Handover
    from leasehold.kernel.services import Services
    from leasehold.pollers.window import Window

# What waited so long in the pool, where others hang, is put back once the poll has to end.
_HANGS_AFTER = timedelta(seconds=2)
_THROTTLES = ("TooManyRequests", "Throttl", "EC2Throttled")


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job whose lease is ours: `function` is its handler, `admitted` what joined its claim, if anything did.

    together: with how many others of its type it may share an invocation.
    """

    handover: Handover
    function: str | None
    admitted: Admitted | None = None
    together: int = 1


@dataclass(frozen=True, slots=True)
class _Delivery:
    """How one hand-over went: if it was not delivered, it was put back if that was still ours to do."""

    is_delivered: bool = False
    error: Exception | None = None
    is_back: bool = False


class HandOvers:
    """What one poll hands over."""

    def __init__(
        self,
        services: Services,
        dispatcher: Dispatcher,
        pool: Pool | None,
        report: PollReport,
        *,
        window: Window | None,
        should_stop: Callable[[], str | None],
    ) -> None:
        self.report = report
        self._services = services
        self._dispatcher = dispatcher
        self._pool = pool
        self._window = window
        self._should_stop = should_stop
        self._under_way: deque[tuple[Sequence[Claimed], Pending[list[_Delivery]]]] = deque()
        self._unreachable: StoreUnavailableError | None = None
        # Jobs that wait for others of their type to share an invocation with.
        self._gathering: Gathering | None = None

    def hand_over(self, claimed: Sequence[Claimed], may_go_on: Callable[[], bool] = lambda: True) -> None:
        """Begin to hand these over, in order. Once the poll has to end, the rest is put back: others need not wait."""
        now = self._services.clock.now()
        for at, each in enumerate(claimed):
            if not may_go_on():
                self.put_back([left.handover for left in claimed[at:]], f"not handed over: {self.report.stopped_by}")
                return
            if each.together == 1 or not isinstance(self._dispatcher, BatchDispatcher):
                self._begin([each], now)
            elif (batch := self._gather(each, now)) is not None:
                self._begin(batch, now)
        self._collect(at_most=None)

    def _gather(self, claimed: Claimed, now: datetime) -> Sequence[Claimed] | None:
        if self._gathering is None:
            from leasehold.features import open_gathering

            self._gathering = open_gathering()
        return self._gathering.add(claimed, now)

    def send_gathered(self, *, is_last: bool = True) -> None:
        """Hand over whoever waits for others: all once the lane has no more of them, else who waited for long."""
        if self._gathering is not None:
            now = self._services.clock.now()
            for batch in self._gathering.take(now, all_of_them=is_last):
                self._begin(batch, now)

    def _begin(self, claimed: Sequence[Claimed], now: datetime) -> None:
        for each in claimed:
            if self._window is not None and each.admitted is None:
                self._window.note_handed_over(each.handover, now)
        if self._pool is None:
            self._end(claimed, lambda: self._deliver(claimed))
            return
        trace = current_trace()  # another thread does not know the poll's
        self._under_way.append((claimed, self._pool.submit(lambda: self._deliver_in_time(claimed, trace, now))))

    def put_back(self, handovers: Sequence[Handover], reason: str) -> list[Handover]:
        """Release what was claimed and not delivered, due at once; returns what was still ours."""
        until, pool = self._services.clock.now(), self._pool or self._services.pool
        pending = [
            (each, pool.submit(lambda each=each: _release(each, reason, self._services, until=until)))  # type: ignore[misc]
            for each in handovers
        ]
        back = [each for each, answer in pending if answer.result()]
        self.report.released += len(back)
        return back

    def wait(self, *, at_most: int = 0) -> None:
        """Until no more than so many are under way."""
        if not at_most:
            self.send_gathered()
        self._collect(at_most=at_most)

    def _deliver_in_time(self, claimed: Sequence[Claimed], trace: str | None, since: datetime) -> list[_Delivery]:
        """In the pool: behind others that hang it may be too late for it."""
        now = self._services.clock.now()
        stop = self._should_stop() if now - since >= _HANGS_AFTER else None
        if stop is None:
            return self._deliver(claimed, trace)
        reason = f"not handed over: {stop}"
        return [_Delivery(is_back=_release(each.handover, reason, self._services, until=now)) for each in claimed]

    def _deliver(self, claimed: Sequence[Claimed], trace: str | None = None) -> list[_Delivery]:
        first = claimed[0].handover
        try:
            with span("hand_over", first.job_type, parent=trace) as handing:
                if len(claimed) > 1 and isinstance(self._dispatcher, BatchDispatcher):
                    handing.note(count=len(claimed))
                    self._dispatcher.dispatch_batch([each.handover for each in claimed], claimed[0].function)
                else:
                    handing.note(job_id=first.job_id)
                    self._dispatcher.dispatch(first, claimed[0].function)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            return [_Delivery(error=error, is_back=_release(each.handover, reason, self._services)) for each in claimed]
        return [_Delivery(is_delivered=True) for _ in claimed]

    def _collect(self, *, at_most: int | None) -> None:
        """Count what has ended; wait for the oldest while more than `at_most` are under way."""
        while self._under_way:
            claimed, pending = self._under_way[0]
            if not pending.is_done and (at_most is None or len(self._under_way) <= at_most):
                break
            self._under_way.popleft()
            self._end(claimed, pending.result)
        unreachable, self._unreachable = self._unreachable, None
        if unreachable is not None:
            raise unreachable

    def _end(self, claimed: Sequence[Claimed], delivered: Callable[[], list[_Delivery]]) -> None:
        try:
            for each, delivery in zip(claimed, delivered(), strict=True):
                self._count(each, delivery)
        except StoreUnavailableError as error:
            self._unreachable = error  # the others are counted first
        except Exception as error:
            self.report.failed += 1
            code = error.code if isinstance(error, LeaseholdError) else type(error).__name__
            job_id = claimed[0].handover.job_id
            self._services.telemetry.event(Event.ENTRY_FAILED, entry=job_id, error_code=code, error=str(error))

    def _count(self, claimed: Claimed, delivery: _Delivery) -> None:
        if self._window is not None and not delivery.is_delivered:
            is_throttled = any(word in str(delivery.error) for word in _THROTTLES)
            self._window.note_refused(claimed.handover, throttled=is_throttled)
        if delivery.is_delivered:
            self.report.dispatched += 1
        elif delivery.is_back:
            self.report.released += 1
            if claimed.admitted is not None:
                claimed.admitted.undelivered(claimed.handover)


def _release(handover: Handover, reason: str, services: Services, *, until: datetime | None = None) -> bool:
    # A hand-over that succeeds needs none of it.
    from leasehold.kernel.release import release

    return release(handover, reason, services, until=until)
