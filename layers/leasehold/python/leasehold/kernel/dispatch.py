"""Dispatch: hand claimed jobs over to their handlers, side by side; one that reaches none is put back by itself.

    handovers.hand_over(claimed)     # returns at once; the next page may be claimed meanwhile
    handovers.wait()                 # each was delivered, or released

Delivering and releasing run in the pool. What became of it is counted here, on the poll's own thread.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from leasehold.domain.errors import LeaseholdError, StoreUnavailableError
from leasehold.domain.lean import dataclass
from leasehold.engine.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.domain.handover import Handover
    from leasehold.engine.parts import Parts
    from leasehold.engine.ports import Dispatcher
    from leasehold.kernel.admission import Admitted
    from leasehold.kernel.pool import Pending, Pool
    from leasehold.kernel.report import PollReport


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job whose lease is ours: `function` is its handler, `admitted` what joined its claim, if anything did."""

    handover: Handover
    function: str | None
    admitted: Admitted | None = None


@dataclass(frozen=True, slots=True)
class _Delivery:
    """How one hand-over went: without an error it was delivered, else it was put back if that was still ours to do."""

    error: Exception | None = None
    is_back: bool = False


class HandOvers:
    """What one poll hands over."""

    def __init__(self, parts: Parts, dispatcher: Dispatcher, pool: Pool, report: PollReport) -> None:
        self._parts = parts
        self._dispatcher = dispatcher
        self._pool = pool
        self._report = report
        self._under_way: deque[tuple[Claimed, Pending[_Delivery]]] = deque()

    def hand_over(self, claimed: Sequence[Claimed], may_go_on: Callable[[], bool] = lambda: True) -> None:
        """Begin to hand these over, in order. Once the poll has to end, the rest is put back: others need not wait."""
        for at, each in enumerate(claimed):
            if not may_go_on():
                self.put_back([left.handover for left in claimed[at:]], f"not handed over: {self._report.stopped_by}")
                return
            self._under_way.append((each, self._pool.submit(lambda each=each: self._deliver(each))))  # type: ignore[misc]
        self._collect(at_most=None)

    def put_back(self, handovers: Sequence[Handover], reason: str) -> list[Handover]:
        """Release what was claimed and not delivered, due at once; returns what was still ours."""
        until = self._parts.clock.now()
        pending = [
            (each, self._pool.submit(lambda each=each: _release(each, reason, self._parts, until=until)))  # type: ignore[misc]
            for each in handovers
        ]
        back = [each for each, answer in pending if answer.result()]
        self._report.released += len(back)
        return back

    def wait(self, *, at_most: int = 0) -> None:
        """Until no more than so many are under way."""
        self._collect(at_most=at_most)

    def _deliver(self, claimed: Claimed) -> _Delivery:
        try:
            self._dispatcher.dispatch(claimed.handover, claimed.function)
        except Exception as error:
            is_back = _release(claimed.handover, f"{type(error).__name__}: {error}", self._parts)
            return _Delivery(error, is_back)
        return _Delivery()

    def _collect(self, *, at_most: int | None) -> None:
        """Count what has ended; wait for the oldest while more than `at_most` are under way."""
        unreachable: StoreUnavailableError | None = None
        while self._under_way:
            claimed, pending = self._under_way[0]
            if not pending.is_done and (at_most is None or len(self._under_way) <= at_most):
                break
            self._under_way.popleft()
            try:
                self._count(claimed, pending.result())
            except StoreUnavailableError as error:
                unreachable = error  # the others are counted first
            except Exception as error:
                self._report.failed += 1
                code = error.code if isinstance(error, LeaseholdError) else type(error).__name__
                job_id = claimed.handover.job_id
                self._parts.telemetry.event(Event.ENTRY_FAILED, entry=job_id, error_code=code, error=str(error))
        if unreachable is not None:
            raise unreachable

    def _count(self, claimed: Claimed, delivery: _Delivery) -> None:
        if delivery.error is None:
            self._report.dispatched += 1
        elif delivery.is_back:
            self._report.released += 1
            if claimed.admitted is not None:
                claimed.admitted.undelivered(claimed.handover)


def _release(handover: Handover, reason: str, parts: Parts, *, until: datetime | None = None) -> bool:
    # A hand-over that succeeds needs none of it.
    from leasehold.kernel.attempt import release

    return release(handover, reason, parts, until=until)
