"""Claim: what becomes of the entries that a lane shows. A job that waits is claimed and handed over to its handler.

A plain job is claimed by one conditional write, several of a page by one request (pollers/at_once.py). What joins a
claim (the seats of limits, the note of a probe) makes it a transaction (limits/gate.py). A poller that dies after a
claim leaves a lease, which is reaped; a hand-over that fails puts back only its own job.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, assert_never

from leasehold import features
from leasehold.kernel.errors import LeaseholdError, StoreError, StoreUnavailableError
from leasehold.kernel.jobs import DueJob, Write
from leasehold.kernel.keys import make_nonce, partition_of, run_lane
from leasehold.kernel.other_entries import DueItem, DueScope, DueUnreadable, FreedScope
from leasehold.kernel.ports import Handover
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.transitions import CLAIM, JobStatus
from leasehold.lean import dataclass
from leasehold.telemetry import CLAIMED, Event
from leasehold.telemetry.spans import API, UNTRACED, span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.jobs import DueEntry
    from leasehold.kernel.poll import Poll
    from leasehold.kernel.registry import Switches
    from leasehold.limits.admission import Admitted
    from leasehold.limits.gate import LimitsGate
    from leasehold.pollers.at_once import AtOnce

# A page is claimed while the last is handed over; a poller that dies leaves no more leases than of these two.
UNDER_WAY = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One try to take a lease: however often it has to be asked for, it is the same write with the same token."""

    entry: DueJob
    job_type: JobType
    handover: Handover
    write: Write
    admitted: Admitted | None = None  # what joins it, if anything does


class Claims:
    """What one poll does about the entries that it is shown, one after the other."""

    def __init__(self, poll: Poll) -> None:
        self.poll = poll
        self.services = poll.services
        self.hand_overs = HandOvers(poll)
        # Opened for the first entry that needs it: a plain job passes by, and nothing is imported for it.
        self.gate: LimitsGate | None = None

    def work_off(self, entries: Sequence[DueEntry], switches: Switches) -> bool:
        """Handle these, as far as no other poller is quicker with one of them: then False."""
        lost_before = self.poll.report.lost_races
        for entry in entries:
            if self.poll.report.lost_races > lost_before or not self.poll.may_go_on():
                break
            self.handle_once(entry, switches)
        return self.poll.report.lost_races == lost_before

    def handle_once(self, entry: DueEntry, switches: Switches) -> None:
        self.poll.seen[entry.due_key] = self.services.clock.now()
        self.handle(entry, switches)

    def handle(self, entry: DueEntry | FreedScope, switches: Switches) -> bool:
        """False if it failed, which is reported: what is behind it does not wait for it."""
        try:
            match entry:
                case DueJob(status=JobStatus.IN_PROGRESS):
                    from leasehold.kernel.reap import reap

                    self.poll.report.reaped += reap(entry, self.services)
                case DueJob() if entry.owes:
                    self.poll.report.settled += features.settle(entry, self.services)
                case DueJob():
                    self.offer(entry, switches)
                case DueScope() | FreedScope():
                    features.gate_of(self.poll).visit(entry, switches)
                case DueItem():
                    features.tend(entry, self.poll)
                case DueUnreadable():
                    raise StoreError(f"this due entry cannot be read: {entry.problem}")
                case _:
                    assert_never(entry)
        except StoreUnavailableError:
            raise
        except Exception as error:
            self.note_failed(entry.scope if isinstance(entry, FreedScope) else entry.due_key, error)
            return False
        return True

    def note_failed(self, entry: str, error: Exception) -> None:
        self.poll.report.failed += 1
        code = error.code if isinstance(error, LeaseholdError) else type(error).__name__
        self.services.telemetry.event(Event.ENTRY_FAILED, entry=entry, error_code=code, error=str(error))

    def after_page(self, *, is_last: bool) -> None:
        """`is_last`: its lane has no more."""
        self.hand_overs.send_gathered(is_last=is_last)
        if self.gate is not None:
            self.gate.after_page()

    # --- a job that waits

    def offer(self, entry: DueJob, switches: Switches) -> None:
        """Claim it and hand it over, or see that it waits where it is in nobody's way."""
        if "at_once" in vars(self) and self.at_once.decides(entry):
            return
        if self.is_plain(entry, switches):
            self.claim(entry)
        else:
            features.gate_of(self.poll).offer(entry, switches)

    def is_plain(self, entry: DueJob, switches: Switches) -> bool:
        """Whether nothing but its own condition decides about its claim. Of most types the gate is not even asked."""
        name, registry = entry.job_type, self.poll.registry
        job_type = registry.types.get(name)
        is_free = (
            job_type is not None
            and not (job_type.is_limited or job_type.breaker)
            and registry.concurrency is None
            and not (name in switches.pauses or name in switches.reservations)
            and self.poll.poller.policy is None
        )
        return entry.status.is_waiting and (is_free or not features.gate_of(self.poll).concerns(entry, switches))

    @cached_property
    def at_once(self) -> AtOnce:
        return features.AtOnce(self)

    def claim(self, entry: DueJob, asked: Claim | None = None) -> bool:
        """Take the lease on a plain job, and hand it over; False if it is not what the index showed."""
        self.hand_overs.wait(at_most=UNDER_WAY)
        claim = asked or self.prepare(entry)
        try:
            self.services.store.jobs.apply(claim.write)
        except TransitionRefused as refused:
            self.note_refused(refused)
            return False
        self.note_claimed(claim.handover)
        self.hand_overs.hand_over(claim)
        return True

    def prepare(self, entry: DueJob) -> Claim:
        now, job_type = self.services.clock.now(), self.services.deployment.registry().types[entry.job_type]
        # Never before the entry's own time: a slow clock must not write a lease that sorts before what it replaces.
        starts_at = max(now, entry.due.at + timedelta(milliseconds=1))
        token = make_nonce(self.services.random_source, self.poll.poller.worker_id)
        lease = entry.due._replace(at=starts_at + job_type.lease_length)
        lane, seen = run_lane(entry.priority, partition_of(entry.job_id).shard), {"due_key": entry.due_key, "now": now}
        values = {"locked_by": token, "locked_at": now, "lock_expires_at": lease.at, "due_lane": lane, "due_key": lease}
        write = Write(job_id=entry.job_id, transition=CLAIM, seen=seen, values=values)
        handover = Handover(job_id=entry.job_id, job_type=entry.job_type, token=token, lease=lease)
        return Claim(entry=entry, job_type=job_type, handover=handover, write=write)

    def note_claimed(self, handover: Handover) -> None:
        self.poll.report.claimed += 1
        self.services.telemetry.event(
            Event.JOB_CLAIMED,
            job_id=handover.job_id,
            job_type=handover.job_type,
            attempt=handover.lease.attempt,
            worker_id=self.poll.poller.worker_id,
            lease_until=handover.lease.at.isoformat(),
        )
        self.services.telemetry.measure(CLAIMED, 1, job_type=handover.job_type)

    def note_refused(self, refused: TransitionRefused) -> None:
        """The job is not what the index showed: another was faster, or it is too late for it."""
        from leasehold.kernel.release import expire_if_too_late

        is_too_late = expire_if_too_late(refused.current, self.services)
        self.poll.report.expired += is_too_late
        self.poll.report.lost_races += not is_too_late


@dataclass(frozen=True, slots=True)
class Delivery:
    """How one hand-over went. One that was not delivered was put back, if that was still ours to do."""

    is_delivered: bool = False
    error: Exception | None = None
    is_back: bool = False


class HandOvers:
    """What one poll hands over, one after the other; side by side, and in batches: pollers/hand_overs.py."""

    def __init__(self, poll: Poll) -> None:
        self.poll = poll
        self.services = poll.services
        self.dispatcher = poll.poller.dispatcher
        self._unreachable: StoreUnavailableError | None = None

    def hand_over(self, claim: Claim) -> None:
        self.begin(claim)
        self.collect()

    def begin(self, claim: Claim) -> None:
        self.end([claim], lambda: self.deliver([claim]))

    def send_gathered(self, *, is_last: bool) -> None:
        """Hand over whoever waits for others: all once the lane has no more of them, else who waited for long."""

    def wait(self, *, at_most: int = 0) -> None:
        """Until no more than so many are under way."""

    def collect(self) -> None:
        """Count what has ended."""
        unreachable, self._unreachable = self._unreachable, None
        if unreachable is not None:
            raise unreachable

    def deliver(self, claims: Sequence[Claim], trace: str | None = None) -> list[Delivery]:
        first, count = claims[0].handover, len(claims)
        try:
            with span("hand_over", first.job_type, parent=trace) if API in sys.modules else UNTRACED as handing:
                if handing is not None:
                    handing.note(job_id=first.job_id if count == 1 else None, count=None if count == 1 else count)
                self.dispatch(claims)
        except Exception as error:
            from leasehold.kernel.release import release  # a hand-over that succeeds needs none of it

            reason = f"{type(error).__name__}: {error}"
            return [Delivery(error=error, is_back=release(each.handover, reason, self.services)) for each in claims]
        return [Delivery(is_delivered=True)] * count

    def dispatch(self, claims: Sequence[Claim]) -> None:
        self.dispatcher.dispatch(claims[0].handover, claims[0].job_type.function)

    def end(self, claims: Sequence[Claim], delivered: Callable[[], list[Delivery]]) -> None:
        try:
            for each, delivery in zip(claims, delivered(), strict=True):
                self.count(each, delivery)
        except StoreUnavailableError as error:
            self._unreachable = error  # the others are counted first
        except Exception as error:
            self.poll.claims.note_failed(claims[0].handover.job_id, error)

    def count(self, claim: Claim, delivery: Delivery) -> None:
        if delivery.is_delivered:
            self.poll.report.dispatched += 1
        elif delivery.is_back:
            self.poll.report.released += 1
            if claim.admitted is not None:
                claim.admitted.undelivered(claim.handover)
