"""Dispatch: hand claimed jobs over to their handlers, side by side; one that reaches none is put back by itself.

    handovers.hand_over(claimed)     # returns at once; the next page may be claimed meanwhile
    handovers.wait()                 # each was delivered, or released

Delivering and releasing run in the pool. What became of it is counted here, on the poll's own thread.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, cast

from leasehold.domain.errors import LeaseholdError, StoreUnavailableError
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import JobStatus
from leasehold.engine.ports import BatchDispatcher
from leasehold.engine.telemetry import Event
from leasehold.store.jobs import DueJob

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.domain.control import Registry
    from leasehold.domain.handover import Handover
    from leasehold.domain.job_type import Batch, JobType
    from leasehold.engine.parts import Parts
    from leasehold.engine.ports import Dispatcher
    from leasehold.kernel.admission import Admitted
    from leasehold.kernel.pool import Pending, Pool
    from leasehold.kernel.report import PollReport
    from leasehold.kernel.window import Window
    from leasehold.store.jobs import DueEntry

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
    """How one hand-over went: without an error it was delivered, else it was put back if that was still ours to do."""

    error: Exception | None = None
    is_back: bool = False


class HandOvers:
    """What one poll hands over."""

    def __init__(
        self, parts: Parts, dispatcher: Dispatcher, pool: Pool, report: PollReport, window: Window | None
    ) -> None:
        self._parts = parts
        self._window = window
        self._dispatcher = dispatcher
        self._batches = dispatcher if isinstance(dispatcher, BatchDispatcher) else None
        self._pool = pool
        self._report = report
        self._under_way: deque[tuple[Sequence[Claimed], Pending[list[_Delivery]]]] = deque()
        # Jobs that wait for others of their type to share an invocation with, until the end of a lane.
        self._gathered: dict[str, list[Claimed]] = {}

    def hand_over(self, claimed: Sequence[Claimed], may_go_on: Callable[[], bool] = lambda: True) -> None:
        """Begin to hand these over, in order. Once the poll has to end, the rest is put back: others need not wait."""
        for at, each in enumerate(claimed):
            if not may_go_on():
                self.put_back([left.handover for left in claimed[at:]], f"not handed over: {self._report.stopped_by}")
                return
            if each.together > 1 and self._batches is not None:
                self._gather(each)
            else:
                self._begin([each])
        self._collect(at_most=None)

    def send_gathered(self) -> None:
        """Hand over whoever still waits for others: the lane has no more of them."""
        gathered, self._gathered = self._gathered, {}
        for each in gathered.values():
            self._begin(each)

    def _gather(self, claimed: Claimed) -> None:
        waiting = self._gathered.setdefault(claimed.handover.job_type, [])
        waiting.append(claimed)
        if len(waiting) >= claimed.together:
            self._begin(self._gathered.pop(claimed.handover.job_type))

    def _begin(self, claimed: Sequence[Claimed]) -> None:
        for each in claimed:
            if self._window is not None and each.admitted is None:
                self._window.note_handed_over(each.handover, self._parts.clock.now())
        self._under_way.append((claimed, self._pool.submit(lambda: self._deliver(claimed))))

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
        if not at_most:
            self.send_gathered()
        self._collect(at_most=at_most)

    def _deliver(self, claimed: Sequence[Claimed]) -> list[_Delivery]:
        try:
            if len(claimed) > 1 and self._batches is not None:
                self._batches.dispatch_batch([each.handover for each in claimed], claimed[0].function)
            else:
                self._dispatcher.dispatch(claimed[0].handover, claimed[0].function)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            return [_Delivery(error, _release(each.handover, reason, self._parts)) for each in claimed]
        return [_Delivery() for _ in claimed]

    def _collect(self, *, at_most: int | None) -> None:
        """Count what has ended; wait for the oldest while more than `at_most` are under way."""
        unreachable: StoreUnavailableError | None = None
        while self._under_way:
            claimed, pending = self._under_way[0]
            if not pending.is_done and (at_most is None or len(self._under_way) <= at_most):
                break
            self._under_way.popleft()
            try:
                for each, delivery in zip(claimed, pending.result(), strict=True):
                    self._count(each, delivery)
            except StoreUnavailableError as error:
                unreachable = error  # the others are counted first
            except Exception as error:
                self._report.failed += 1
                code = error.code if isinstance(error, LeaseholdError) else type(error).__name__
                job_id = claimed[0].handover.job_id
                self._parts.telemetry.event(Event.ENTRY_FAILED, entry=job_id, error_code=code, error=str(error))
        if unreachable is not None:
            raise unreachable

    def _count(self, claimed: Claimed, delivery: _Delivery) -> None:
        if self._window is not None and delivery.error is not None:
            is_throttled = any(word in str(delivery.error) for word in _THROTTLES)
            self._window.note_refused(claimed.handover, throttled=is_throttled)
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


def ready[Entry: DueEntry](
    entries: Sequence[Entry], registry: Registry, report: PollReport, now: datetime
) -> list[Entry]:
    """These without the jobs that still wait for others of their batch: nothing is claimed of those yet."""
    waiting: dict[str, list[DueJob]] = {}
    for entry in entries:
        job_type = registry.types.get(entry.job_type) if isinstance(entry, DueJob) else None
        if job_type is not None and job_type.batch is not None and job_type.batch.wait and _is_new(entry):
            waiting.setdefault(job_type.name, []).append(cast("DueJob", entry))
    left: set[str] = set()
    for name, jobs in waiting.items():
        batch = cast("Batch", registry.types[name].batch)
        until = min(job.due.at for job in jobs) + batch.wait
        if len(jobs) < batch.size and now < until:
            left |= {job.due_key for job in jobs}
            report.note_due(until)
    return [entry for entry in entries if entry.due_key not in left] if left else list(entries)


def together(entry: DueJob, job_type: JobType) -> int:
    """With how many it may share an invocation. One that failed runs alone: it may be what its worker died of."""
    return job_type.batch.size if job_type.batch is not None and _is_new(entry) else 1


def _is_new(entry: DueEntry) -> bool:
    return isinstance(entry, DueJob) and entry.status is JobStatus.PENDING
