"""Claim: take the lease on a due job, with all that joins it, and hand the job over; or see that it waits.

A plain job is claimed by one conditional write, several plain ones of a page by one request. What joins a claim (the
seats of limits, the note of a probe) makes it a transaction. A poller that dies after a claim leaves a lease, which is
reaped.
"""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, cast

from leasehold.kernel.admission import TurnedAway, Undecided, Waits
from leasehold.kernel.errors import LeaseholdError, StoreUnavailableError
from leasehold.kernel.execute import Handover
from leasehold.kernel.jobs import DueJob, TransitionRefused, Write
from leasehold.kernel.keys import run_lane, shard_of
from leasehold.kernel.lean import dataclass
from leasehold.kernel.ports import BatchDispatcher
from leasehold.kernel.services import make_nonce
from leasehold.kernel.spans import current_trace, span
from leasehold.kernel.table import TransactionCancelled, request_token
from leasehold.kernel.telemetry import CLAIMED, Event
from leasehold.kernel.transitions import CLAIM, HOLD, JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from leasehold.kernel.admission import Admitted, Gatekeeper
    from leasehold.kernel.job_type import Batch, JobType
    from leasehold.kernel.jobs import DueEntry
    from leasehold.kernel.poll import PollReport
    from leasehold.kernel.pool import Pending, Pool
    from leasehold.kernel.ports import Dispatcher
    from leasehold.kernel.registry import Registry, Switches
    from leasehold.kernel.services import Services
    from leasehold.kernel.window import Window


# One job by itself is claimed as well by the write that knows every case.
_FEWEST_AT_ONCE = 2
# A page is claimed while the last is handed over; a poller that dies leaves no more leases than of these two.
_UNDER_WAY = 25
_TRIES = 3
# What waited so long in the pool, where others hang, is put back once the poll has to end.
_HANGS_AFTER = timedelta(seconds=2)
# A claimed job waits no longer than this for others to share an invocation with, however long its lane is.
_GATHERED_FOR = timedelta(milliseconds=500)


class Outcome(Enum):
    CLAIMED = auto()
    # The job is not what the index showed: another was faster, or it is too late for it.
    LOST = auto()
    # What was to join the claim is not what it was: decide anew.
    CHANGED = auto()


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
        services: Services,
        handovers: HandOvers,
        gate: Gatekeeper,
        *,
        worker_id: str,
        report: PollReport,
        may_go_on: Callable[[], bool],
    ) -> None:
        self.report = report
        self._services = services
        self._handovers = handovers
        self._worker_id = worker_id
        self._gate = gate
        self._may_go_on = may_go_on
        # What a batch has claimed, and what it left open until it is decided.
        self._taken: set[str] = set()
        self._undecided: dict[str, Claim] = {}
        # Types whose jobs a batch refuses for what they are, e.g. because they must start by a certain time.
        self._not_plain: set[str] = set()

    def offer(self, entry: DueJob, switches: Switches) -> None:
        """Claim a waiting job and hand it over, or see that it waits where it is in nobody's way."""
        if self.has_taken(entry):
            return
        if not self._gate.concerns(entry, switches):
            self.claim(entry, None)
            return
        must_wait = False
        for _ in range(_TRIES):
            decision = self._gate.admit(entry, switches, must_wait=must_wait)
            match decision:
                case Waits():
                    self._hold(entry, decision)
                    return
                case TurnedAway(why):
                    if self._turn_away(entry, why):
                        return
                    must_wait = True
                case Undecided():
                    return
                case _:
                    if self.claim(entry, decision) is not Outcome.CHANGED:
                        return

    def claim(self, entry: DueJob, admitted: Admitted | None) -> Outcome:
        """Take the lease on a job that may run, and hand it over."""
        job_type = self._services.deployment.registry().types[entry.job_type]
        self._handovers.wait(at_most=_UNDER_WAY)
        try:
            if admitted is None:
                handover: Handover | None = self._claim_alone(entry, job_type)
            else:
                handover = self._claim_joined(entry, job_type, admitted)
        except TransitionRefused as refused:
            self._note_refused(refused)
            return Outcome.LOST
        if handover is None:
            return Outcome.CHANGED
        self._handovers.hand_over([Claimed(handover, job_type.function, admitted, together(entry, job_type))])
        return Outcome.CLAIMED

    def _claim_alone(self, entry: DueJob, job_type: JobType) -> Handover:
        asked = self._undecided.pop(entry.due_key, None)
        wanted = asked or self._prepare(entry, job_type)
        self._services.store.jobs.apply(wanted.write)
        self._note_claimed(wanted.handover)
        if asked is not None:
            self._not_plain.add(entry.job_type)  # a batch had refused it: so it will others of its type
        return wanted.handover

    def _claim_joined(self, entry: DueJob, job_type: JobType, admitted: Admitted) -> Handover | None:
        """One transaction; None if something that was to join it is not what it was."""
        wanted = self._prepare(entry, job_type)
        joined = admitted.join(wanted.handover)
        write = self._write(entry, wanted.handover, joined.values)
        try:
            # A fresh token for a fresh content: the seats of two tries differ.
            token = request_token(wanted.handover.token)
            self._services.store.jobs.apply_with(write, joined.changes, token=token)
        except TransactionCancelled as cancelled:
            admitted.refused([at - 1 for at in cancelled.failed])
            return None
        except BaseException:
            admitted.refused(())
            raise
        admitted.claimed()
        self._note_claimed(wanted.handover)
        return wanted.handover

    def _note_refused(self, refused: TransitionRefused) -> None:
        from leasehold.kernel.attempt import expire_if_too_late

        if expire_if_too_late(refused.current, self._services):
            self.report.expired += 1
        else:
            self.report.lost_races += 1

    # --- several at once

    def take_ahead(self, entries: Sequence[DueJob], switches: Switches) -> None:
        """Claim those of the entries that are plain jobs by one request, if there are several, and hand them over.

        Whoever a batch refuses is decided by the claim for one job, with the same token: that is how a batch whose
        answer was lost is recognised, too.
        """
        jobs, types = self._services.store.jobs, self._services.deployment.registry().types
        plain = [entry for entry in entries if entry.job_type not in self._not_plain and self.is_plain(entry, switches)]
        if jobs.refused_batches is not None or len(plain) < _FEWEST_AT_ONCE:
            return
        self._handovers.wait(at_most=_UNDER_WAY)
        claims = [self._prepare(entry, types[entry.job_type]) for entry in plain]
        answers = jobs.apply_many([each.write for each in claims])
        claimed: list[Claimed] = []
        for entry, each, answer in zip(plain, claims, answers, strict=True):
            if answer is None:
                self._taken.add(entry.due_key)
                self._note_claimed(each.handover)
                shared = together(entry, types[entry.job_type])
                claimed.append(Claimed(each.handover, each.function, together=shared))
            else:
                self._undecided[entry.due_key] = each
        self._handovers.hand_over(claimed, self._may_go_on)
        self._log_refused_batches(jobs.refused_batches)

    def has_taken(self, entry: DueJob) -> bool:
        """Whether a batch has claimed it already."""
        return entry.due_key in self._taken

    def end_page(self) -> None:
        """Put back what may be ours by a batch whose answer was lost, and was not decided before the poll ended."""
        undecided = [each.handover for each in self._undecided.values()]
        self._undecided.clear()
        self._taken.clear()
        for handover in self._handovers.put_back(undecided, f"not handed over: {self.report.stopped_by}"):
            self._note_claimed(handover)

    def is_plain(self, entry: DueJob, switches: Switches) -> bool:
        """Whether nothing but its own condition decides about its claim."""
        return entry.status.is_waiting and not self._gate.concerns(entry, switches)

    def _log_refused_batches(self, reason: str | None) -> None:
        if reason is not None:
            self._services.telemetry.event(
                Event.BATCH_REFUSED, worker_id=self._worker_id, reason=reason, instead="one by one"
            )

    # --- the steps

    def _prepare(self, entry: DueJob, job_type: JobType) -> Claim:
        # Never before the entry's own time: a slow clock must not write a lease that sorts before what it replaces.
        starts_at = max(self._services.clock.now(), entry.due.at + timedelta(milliseconds=1))
        handover = Handover(
            job_id=entry.job_id,
            job_type=entry.job_type,
            token=make_nonce(self._services.random_source, self._worker_id),
            lease=entry.due.moved_to(starts_at + job_type.lease_length),
        )
        return Claim(handover, self._write(entry, handover, {}), job_type.function)

    def _write(self, entry: DueJob, handover: Handover, also: Mapping[str, object]) -> Write:
        now = self._services.clock.now()
        values: dict[str, object] = {
            "locked_by": handover.token,
            "locked_at": now,
            "lock_expires_at": handover.lease.at,
            "due_lane": run_lane(entry.priority, shard_of(entry.job_id)),
            "due_key": handover.lease,
            **also,
        }
        return Write(job_id=entry.job_id, transition=CLAIM, seen={"due_key": entry.due_key, "now": now}, values=values)

    def _hold(self, entry: DueJob, waits: Waits) -> None:
        """Move a due job to where it waits, unless it is not what the index showed."""
        seen = {"due_key": entry.due_key, "due_lane": entry.lane}
        write = Write(job_id=entry.job_id, transition=HOLD, seen=seen, values={"due_lane": waits.lane})
        try:
            self._services.store.jobs.apply(write)
        except TransitionRefused as refused:
            # Where it is there already, this try or another's has done the same.
            if refused.current is None or refused.current.due_lane != waits.lane:
                self.report.lost_races += 1
                return
        self.report.held += 1
        self._services.telemetry.event(
            Event.JOB_HELD, job_id=entry.job_id, job_type=entry.job_type, scope=waits.scope, reason=waits.why
        )

    def _turn_away(self, entry: DueJob, why: str) -> bool:
        """End a new job as its type says if a limit is full; False if it has run before, and shall wait."""
        from leasehold.limits.admission import may_be_turned_away, turn_away

        job = self._services.store.jobs.get(entry.job_id)
        if job is None or not may_be_turned_away(job):
            return False
        if turn_away(job, why, self._services, worker_id=self._worker_id):
            self.report.turned_away += 1
        else:
            self.report.lost_races += 1
        return True

    def _note_claimed(self, handover: Handover) -> None:
        self.report.claimed += 1
        self._services.telemetry.event(
            Event.JOB_CLAIMED,
            job_id=handover.job_id,
            job_type=handover.job_type,
            attempt=handover.lease.attempt,
            worker_id=self._worker_id,
            lease_until=handover.lease.at.isoformat(),
        )
        self._services.telemetry.measure(CLAIMED, 1, job_type=handover.job_type)


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
        pool: Pool,
        report: PollReport,
        *,
        window: Window | None,
        should_stop: Callable[[], str | None],
    ) -> None:
        self._services = services
        self._window = window
        self._should_stop = should_stop
        self._dispatcher = dispatcher
        self._batches = dispatcher if isinstance(dispatcher, BatchDispatcher) else None
        self._pool = pool
        self._report = report
        self._under_way: deque[tuple[Sequence[Claimed], Pending[list[_Delivery]]]] = deque()
        # Jobs that wait for others of their type to share an invocation with, and since when.
        self._gathered: dict[str, tuple[datetime, list[Claimed]]] = {}

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

    def send_gathered(self, *, is_last: bool = True) -> None:
        """Hand over whoever waits for others: all once the lane has no more of them, else who waited for long."""
        now = self._services.clock.now()
        for job_type, (since, waiting) in list(self._gathered.items()):
            if is_last or now - since >= _GATHERED_FOR:
                del self._gathered[job_type]
                self._begin(waiting)

    def _gather(self, claimed: Claimed) -> None:
        job_type = claimed.handover.job_type
        _, waiting = self._gathered.setdefault(job_type, (self._services.clock.now(), []))
        waiting.append(claimed)
        if len(waiting) >= claimed.together:
            del self._gathered[job_type]
            self._begin(waiting)

    def _begin(self, claimed: Sequence[Claimed]) -> None:
        now = self._services.clock.now()
        for each in claimed:
            if self._window is not None and each.admitted is None:
                self._window.note_handed_over(each.handover, now)
        trace = current_trace()  # another thread does not know the poll's
        self._under_way.append((claimed, self._pool.submit(lambda: self._deliver(claimed, trace, now))))

    def put_back(self, handovers: Sequence[Handover], reason: str) -> list[Handover]:
        """Release what was claimed and not delivered, due at once; returns what was still ours."""
        until = self._services.clock.now()
        pending = [
            (each, self._pool.submit(lambda each=each: _release(each, reason, self._services, until=until)))  # type: ignore[misc]
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

    def _deliver(self, claimed: Sequence[Claimed], trace: str | None, since: datetime) -> list[_Delivery]:
        first, now = claimed[0].handover, self._services.clock.now()
        stop = self._should_stop() if now - since >= _HANGS_AFTER else None
        if stop is not None:
            return [
                _Delivery(is_back=_release(each.handover, f"not handed over: {stop}", self._services, until=now))
                for each in claimed
            ]
        try:
            with span("hand_over", first.job_type, parent=trace) as handing:
                if len(claimed) > 1 and self._batches is not None:
                    handing.note(count=len(claimed))
                    self._batches.dispatch_batch([each.handover for each in claimed], claimed[0].function)
                else:
                    handing.note(job_id=first.job_id)
                    self._dispatcher.dispatch(first, claimed[0].function)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            return [_Delivery(error=error, is_back=_release(each.handover, reason, self._services)) for each in claimed]
        return [_Delivery(is_delivered=True) for _ in claimed]

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
                self._services.telemetry.event(Event.ENTRY_FAILED, entry=job_id, error_code=code, error=str(error))
        if unreachable is not None:
            raise unreachable

    def _count(self, claimed: Claimed, delivery: _Delivery) -> None:
        if self._window is not None and not delivery.is_delivered:
            is_throttled = any(word in str(delivery.error) for word in _THROTTLES)
            self._window.note_refused(claimed.handover, throttled=is_throttled)
        if delivery.is_delivered:
            self._report.dispatched += 1
        elif delivery.is_back:
            self._report.released += 1
            if claimed.admitted is not None:
                claimed.admitted.undelivered(claimed.handover)


def _release(handover: Handover, reason: str, services: Services, *, until: datetime | None = None) -> bool:
    # A hand-over that succeeds needs none of it.
    from leasehold.kernel.attempt import release

    return release(handover, reason, services, until=until)


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
