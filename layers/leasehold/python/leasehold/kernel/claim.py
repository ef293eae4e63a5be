"""Claim: take the lease on a due job, with all that joins it, or see that it waits. Who has a lease is handed over.

A plain job is claimed by one conditional write, several plain ones of a page by one request. What joins a claim (the
seats of limits, the note of a probe) makes it a transaction. A poller that dies after a claim leaves a lease, which is
reaped.
"""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING

from leasehold.kernel.admission import TurnedAway, Undecided, Waits
from leasehold.kernel.hand_over import Claimed
from leasehold.kernel.jobs import TransitionRefused, Write
from leasehold.kernel.keys import run_lane, shard_of
from leasehold.kernel.ports import Handover
from leasehold.kernel.services import make_nonce
from leasehold.kernel.table import TransactionCancelled, request_token
from leasehold.kernel.transitions import CLAIM, HOLD, JobStatus
from leasehold.lean import dataclass
from leasehold.telemetry import CLAIMED, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.kernel.admission import Admitted, Gate
    from leasehold.kernel.hand_over import HandOvers
    from leasehold.kernel.job_type import JobType
    from leasehold.kernel.jobs import DueJob
    from leasehold.kernel.registry import Switches
    from leasehold.kernel.services import Services
    from leasehold.limits.model import ConcurrencyPolicy


# One job by itself is claimed as well by the write that knows every case.
_FEWEST_AT_ONCE = 2
# A page is claimed while the last is handed over; a poller that dies leaves no more leases than of these two.
_UNDER_WAY = 25
_TRIES = 3
_WAITING = frozenset({JobStatus.PENDING, JobStatus.FAILED})


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
        *,
        worker_id: str,
        policy: ConcurrencyPolicy | None,
        may_go_on: Callable[[], bool],
    ) -> None:
        self.report = handovers.report
        self._services = services
        self._handovers = handovers
        self._worker_id = worker_id
        self._policy = policy
        self._may_go_on = may_go_on
        # Opened for the first job that needs it: a plain job passes by, and nothing is imported for it.
        self._gate: Gate | None = None
        # Types that nothing but their jobs' own condition decides about, by these switches.
        self._free: dict[str, bool] = {}
        self._switches: Switches | None = None
        # What a batch has claimed, and what it left open until it is decided.
        self._taken: set[str] = set()
        self._undecided: dict[str, Claim] = {}
        # Types whose jobs a batch refuses for what they are, e.g. because they must start by a certain time.
        self._not_plain: set[str] = set()

    def offer(self, entry: DueJob, switches: Switches) -> None:
        """Claim a waiting job and hand it over, or see that it waits where it is in nobody's way."""
        if self.has_taken(entry):
            return
        if not self._is_concerned(entry, switches):
            self.claim(entry, None)
            return
        must_wait = False
        for _ in range(_TRIES):
            decision = self.gate.admit(entry, switches, must_wait=must_wait)
            match decision:
                case Waits():
                    self._hold(entry, decision)
                    return
                case TurnedAway(why):
                    is_ended = self.gate.turn_away(entry, why, worker_id=self._worker_id)
                    if is_ended is not None:
                        self.report.turned_away += is_ended
                        self.report.lost_races += not is_ended
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
        from leasehold.kernel.release import expire_if_too_late

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
        jobs = self._services.store.jobs
        plain = [entry for entry in entries if entry.job_type not in self._not_plain and self.is_plain(entry, switches)]
        if jobs.refused_batches is not None or len(plain) < _FEWEST_AT_ONCE:
            return
        types = self._services.deployment.registry().types
        self._handovers.wait(at_most=_UNDER_WAY)
        if not self._may_go_on():
            return  # a page that is claimed now would only be put back, and then be claimed twice
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
        self._taken.clear()
        if not undecided:
            return
        self._undecided.clear()
        for handover in self._handovers.put_back(undecided, f"not handed over: {self.report.stopped_by}"):
            self._note_claimed(handover)

    def is_plain(self, entry: DueJob, switches: Switches) -> bool:
        """Whether nothing but its own condition decides about its claim."""
        return entry.status in _WAITING and not self._is_concerned(entry, switches)

    def _is_concerned(self, entry: DueJob, switches: Switches) -> bool:
        """Whether the gate is asked about it. Most types need none, and are asked about once."""
        if switches is not self._switches:
            self._free, self._switches = {}, switches
        if entry.job_type not in self._free:
            self._free[entry.job_type] = self._is_free(entry.job_type, switches)
        return not self._free[entry.job_type] and self.gate.concerns(entry, switches)

    def _is_free(self, name: str, switches: Switches) -> bool:
        registry = self._services.deployment.registry()
        job_type = registry.types.get(name)
        return (
            job_type is not None
            and not (job_type.is_limited or job_type.breaker)
            and registry.concurrency is None
            and name not in switches.pauses
            and name not in switches.reservations
            and self._policy is None
        )

    @property
    def gate(self) -> Gate:
        if self._gate is None:
            from leasehold.features import open_gate

            self._gate = open_gate(self._services, self._policy)
        return self._gate

    def after_page(self) -> None:
        if self._gate is not None:
            self._gate.after_page()

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


def together(entry: DueJob, job_type: JobType) -> int:
    """With how many it may share an invocation. One that failed runs alone: it may be what its worker died of."""
    return job_type.batch.size if job_type.batch is not None and entry.status is JobStatus.PENDING else 1
