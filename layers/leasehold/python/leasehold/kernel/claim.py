"""Claim: take the lease on a due job, and hand it over to its handler, side by side with others where there is a pool.

A plain job is claimed by one conditional write, several of a page by one request (claims_at_once.py). What joins a
claim (the seats of limits, the note of a probe) makes it a transaction (admission.py). A poller that dies after a claim
leaves a lease, which is reaped; a hand-over that fails puts back only its own job.
"""

from __future__ import annotations

import sys
from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.admission import Outcome, claim_joined, offer
from leasehold.kernel.errors import LeaseholdError, StoreUnavailableError
from leasehold.kernel.jobs import TransitionRefused, Write
from leasehold.kernel.keys import make_nonce, run_lane, shard_of
from leasehold.kernel.ports import BatchDispatcher, Handover
from leasehold.kernel.transitions import CLAIM, JobStatus
from leasehold.lean import dataclass
from leasehold.telemetry import CLAIMED, Event
from leasehold.telemetry.spans import API, UNTRACED, current_trace, span

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from leasehold.batches.gather import Gathering
    from leasehold.kernel.admission import Admitted, Gate
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.jobs import DueJob
    from leasehold.kernel.poll import Poller, PollReport
    from leasehold.kernel.ports import Dispatcher
    from leasehold.kernel.registry import Switches
    from leasehold.kernel.services import Services
    from leasehold.pollers.window import Window
    from leasehold.pool import Pending, Pool

# A page is claimed while the last is handed over; a poller that dies leaves no more leases than of these two.
UNDER_WAY = 25
# What waited so long in the pool, where others hang, is put back once the poll has to end.
_HANGS_AFTER = timedelta(seconds=2)
_THROTTLES = ("TooManyRequests", "Throttl", "EC2Throttled")
_WAITING = frozenset({JobStatus.PENDING, JobStatus.FAILED})


@dataclass(frozen=True, slots=True)
class Claim:
    """One try to take a lease: however often it has to be asked for, it is the same write with the same token."""

    handover: Handover
    write: Write
    function: str | None


class Claims:
    """What one poll claims and hands over."""

    def __init__(
        self,
        poller: Poller,
        report: PollReport,
        window: Window | None,
        *,
        should_stop: Callable[[], str | None] | None,
        may_go_on: Callable[[], bool],
    ) -> None:
        self.report = report
        self.services = poller.services
        self.handovers = HandOvers(
            poller.services, poller.dispatcher, poller.pool, report, window=window, should_stop=should_stop
        )
        self.worker_id = poller.worker_id
        self._policy = poller.policy
        self.may_go_on = may_go_on
        # Opened for the first job that needs it: a plain job passes by, and nothing is imported for it.
        self.opened_gate: Gate | None = None
        # Types that nothing but their jobs' own condition decides about, by these switches.
        self._free: dict[str, JobType | None] = {}
        self._switches: Switches | None = None
        # What a batch has claimed, and what it left open until it is decided.
        self.taken: set[str] = set()
        self.undecided: dict[str, Claim] = {}
        # Types whose jobs a batch refuses for what they are, e.g. because they must start by a certain time.
        self.not_plain: set[str] = set()

    def offer(self, entry: DueJob, switches: Switches) -> None:
        """Claim a waiting job and hand it over, or see that it waits where it is in nobody's way."""
        if entry.due_key in self.taken:
            return
        if not self._is_concerned(entry, switches):
            self.claim(entry, None, self._free[entry.job_type])
        else:
            offer(entry, switches, self)

    def claim(self, entry: DueJob, admitted: Admitted | None, job_type: JobType | None = None) -> Outcome:
        """Take the lease on a job that may run, and hand it over."""
        job_type = job_type or self.services.deployment.registry().types[entry.job_type]
        self.handovers.wait(at_most=UNDER_WAY)
        try:
            if admitted is None:
                handover: Handover | None = self._claim_alone(entry, job_type)
            else:
                handover = claim_joined(entry, job_type, admitted, self)
        except TransitionRefused as refused:
            self._note_refused(refused)
            return Outcome.LOST
        if handover is None:
            return Outcome.CHANGED
        self.handovers.hand_over([Claimed(handover, job_type.function, admitted, together(entry, job_type))])
        return Outcome.CLAIMED

    def _claim_alone(self, entry: DueJob, job_type: JobType) -> Handover:
        asked = self.undecided.pop(entry.due_key, None)
        wanted = asked or self.prepare(entry, job_type)
        self.services.store.jobs.apply(wanted.write)
        self.note_claimed(wanted.handover)
        if asked is not None:
            self.not_plain.add(entry.job_type)  # a batch had refused it: so it will others of its type
        return wanted.handover

    def _note_refused(self, refused: TransitionRefused) -> None:
        from leasehold.kernel.release import expire_if_too_late

        if expire_if_too_late(refused.current, self.services):
            self.report.expired += 1
        else:
            self.report.lost_races += 1

    def is_plain(self, entry: DueJob, switches: Switches) -> bool:
        """Whether nothing but its own condition decides about its claim."""
        return entry.status in _WAITING and not self._is_concerned(entry, switches)

    def _is_concerned(self, entry: DueJob, switches: Switches) -> bool:
        """Whether the gate is asked about it. Most types need none, and are asked about once."""
        if switches is not self._switches:
            self._free, self._switches = {}, switches
        if entry.job_type not in self._free:
            self._free[entry.job_type] = self._if_free(entry.job_type, switches)
        return self._free[entry.job_type] is None and self.gate.concerns(entry, switches)

    def _if_free(self, name: str, switches: Switches) -> JobType | None:
        registry = self.services.deployment.registry()
        job_type = registry.types.get(name)
        is_free = (
            job_type is not None
            and not (job_type.is_limited or job_type.breaker)
            and registry.concurrency is None
            and name not in switches.pauses
            and name not in switches.reservations
            and self._policy is None
        )
        return job_type if is_free else None

    @property
    def gate(self) -> Gate:
        if self.opened_gate is None:
            from leasehold.features import open_gate

            self.opened_gate = open_gate(self.services, self._policy)
        return self.opened_gate

    # --- the steps

    def prepare(self, entry: DueJob, job_type: JobType) -> Claim:
        # Never before the entry's own time: a slow clock must not write a lease that sorts before what it replaces.
        starts_at = max(self.services.clock.now(), entry.due.at + timedelta(milliseconds=1))
        handover = Handover(
            job_id=entry.job_id,
            job_type=entry.job_type,
            token=make_nonce(self.services.random_source, self.worker_id),
            lease=entry.due.moved_to(starts_at + job_type.lease_length),
        )
        return Claim(handover, self.write(entry, handover, {}), job_type.function)

    def write(self, entry: DueJob, handover: Handover, also: Mapping[str, object]) -> Write:
        now = self.services.clock.now()
        values: dict[str, object] = {
            "locked_by": handover.token,
            "locked_at": now,
            "lock_expires_at": handover.lease.at,
            "due_lane": run_lane(entry.priority, shard_of(entry.job_id)),
            "due_key": handover.lease,
            **also,
        }
        return Write(job_id=entry.job_id, transition=CLAIM, seen={"due_key": entry.due_key, "now": now}, values=values)

    def note_claimed(self, handover: Handover) -> None:
        self.report.claimed += 1
        self.services.telemetry.event(
            Event.JOB_CLAIMED,
            job_id=handover.job_id,
            job_type=handover.job_type,
            attempt=handover.lease.attempt,
            worker_id=self.worker_id,
            lease_until=handover.lease.at.isoformat(),
        )
        self.services.telemetry.measure(CLAIMED, 1, job_type=handover.job_type)


def together(entry: DueJob, job_type: JobType) -> int:
    """With how many it may share an invocation. One that failed runs alone: it may be what its worker died of."""
    return job_type.batch.size if job_type.batch is not None and entry.status is JobStatus.PENDING else 1


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
        should_stop: Callable[[], str | None] | None,
    ) -> None:
        self.report = report
        self._services = services
        self._dispatcher = dispatcher
        self._pool = pool
        self._window = window
        self._should_stop = should_stop
        self.under_way: deque[tuple[Sequence[Claimed], Pending[list[_Delivery]]]] = deque()
        self._unreachable: StoreUnavailableError | None = None
        # Jobs that wait for others of their type to share an invocation with.
        self.gathering: Gathering | None = None

    def hand_over(self, claimed: Sequence[Claimed], may_go_on: Callable[[], bool] = lambda: True) -> None:
        """Begin to hand these over, in order. Once the poll has to end, the rest is put back: others need not wait."""
        now = self._services.clock.now()
        for at, each in enumerate(claimed):
            if not may_go_on():
                self.put_back([left.handover for left in claimed[at:]], f"not handed over: {self.report.stopped_by}")
                break
            if each.together == 1 or not isinstance(self._dispatcher, BatchDispatcher):
                self._begin([each], now)
            elif (batch := self._gather(each, now)) is not None:
                self._begin(batch, now)
        self._collect(at_most=None)

    def _gather(self, claimed: Claimed, now: datetime) -> Sequence[Claimed] | None:
        if self.gathering is None:
            from leasehold.features import open_gathering

            self.gathering = open_gathering()
        return self.gathering.add(claimed, now)

    def send_gathered(self, *, is_last: bool = True) -> None:
        """Hand over whoever waits for others: all once the lane has no more of them, else who waited for long."""
        if self.gathering is not None:
            now = self._services.clock.now()
            for batch in self.gathering.take(now, all_of_them=is_last):
                self._begin(batch, now)

    def _begin(self, claimed: Sequence[Claimed], now: datetime) -> None:
        for each in claimed:
            if self._window is not None and each.admitted is None:
                self._window.note_handed_over(each.handover, now)
        if self._pool is None:
            self._end(claimed, lambda: self._deliver(claimed))
            return
        trace = current_trace()  # another thread does not know the poll's
        self.under_way.append((claimed, self._pool.submit(lambda: self._deliver_in_time(claimed, trace, now))))

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
        stop = self._should_stop() if self._should_stop is not None and now - since >= _HANGS_AFTER else None
        if stop is None:
            return self._deliver(claimed, trace)
        reason = f"not handed over: {stop}"
        return [_Delivery(is_back=_release(each.handover, reason, self._services, until=now)) for each in claimed]

    def _deliver(self, claimed: Sequence[Claimed], trace: str | None = None) -> list[_Delivery]:
        first = claimed[0].handover
        try:
            with span("hand_over", first.job_type, parent=trace) if API in sys.modules else UNTRACED as handing:
                is_one = len(claimed) == 1
                if handing is not None:
                    handing.note(job_id=first.job_id if is_one else None, count=None if is_one else len(claimed))
                if not is_one and isinstance(self._dispatcher, BatchDispatcher):
                    self._dispatcher.dispatch_batch([each.handover for each in claimed], claimed[0].function)
                else:
                    self._dispatcher.dispatch(first, claimed[0].function)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            return [_Delivery(error=error, is_back=_release(each.handover, reason, self._services)) for each in claimed]
        return [_Delivery(is_delivered=True) for _ in claimed]

    def _collect(self, *, at_most: int | None) -> None:
        """Count what has ended; wait for the oldest while more than `at_most` are under way."""
        while self.under_way:
            claimed, pending = self.under_way[0]
            if not pending.is_done and (at_most is None or len(self.under_way) <= at_most):
                break
            self.under_way.popleft()
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
