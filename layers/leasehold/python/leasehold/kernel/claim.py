"""Claim: take the lease on a due job, with all that joins it, and hand the job over; or see that it waits.

A plain job is claimed by one conditional write, several plain ones of a page by one request. What joins a claim (the
seats of limits, the note of a probe) makes it a transaction. A poller that dies after a claim leaves a lease, which is
reaped.
"""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING

from leasehold.domain.due import run_lane
from leasehold.domain.handover import Handover
from leasehold.domain.ids import shard_of
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import CLAIM, HOLD, Write
from leasehold.engine.ports import make_nonce
from leasehold.engine.telemetry import CLAIMED, Event
from leasehold.kernel.admission import TurnedAway, Undecided, Waits
from leasehold.kernel.dispatch import Claimed, together
from leasehold.store.jobs import TransitionRefused
from leasehold.store.table import TransactionCancelled
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.domain.control import Switches
    from leasehold.domain.job_type import JobType
    from leasehold.engine.parts import Parts
    from leasehold.kernel.admission import Admitted, Gatekeeper
    from leasehold.kernel.dispatch import HandOvers
    from leasehold.kernel.report import PollReport
    from leasehold.store.jobs import DueJob

# One job by itself is claimed as well by the write that knows every case.
_FEWEST_AT_ONCE = 2
# A page is claimed while the last is handed over; a poller that dies leaves no more leases than of these two.
_UNDER_WAY = 25
_TRIES = 3


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
        parts: Parts,
        handovers: HandOvers,
        gate: Gatekeeper,
        *,
        worker_id: str,
        report: PollReport,
        may_go_on: Callable[[], bool],
    ) -> None:
        self.report = report
        self._parts = parts
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
        job_type = self._parts.deployment.registry().types[entry.job_type]
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
        self._parts.store.jobs.make(wanted.write)
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
            self._parts.store.jobs.advance_with(write, joined.changes, token=token)
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

        if expire_if_too_late(refused.current, self._parts):
            self.report.expired += 1
        else:
            self.report.lost_races += 1

    # --- several at once

    def take_ahead(self, entries: Sequence[DueJob], switches: Switches) -> None:
        """Claim those of the entries that are plain jobs by one request, if there are several, and hand them over.

        Whoever a batch refuses is decided by the claim for one job, with the same token: that is how a batch whose
        answer was lost is recognised, too.
        """
        jobs, types = self._parts.store.jobs, self._parts.deployment.registry().types
        plain = [entry for entry in entries if entry.job_type not in self._not_plain and self.is_plain(entry, switches)]
        if jobs.refused_batches is not None or len(plain) < _FEWEST_AT_ONCE:
            return
        self._handovers.wait(at_most=_UNDER_WAY)
        claims = [self._prepare(entry, types[entry.job_type]) for entry in plain]
        answers = jobs.advance_many([each.write for each in claims])
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
            self._parts.telemetry.event(
                Event.BATCH_REFUSED, worker_id=self._worker_id, reason=reason, instead="one by one"
            )

    # --- the steps

    def _prepare(self, entry: DueJob, job_type: JobType) -> Claim:
        # Never before the entry's own time: a slow clock must not write a lease that sorts before what it replaces.
        starts_at = max(self._parts.clock.now(), entry.due.at + timedelta(milliseconds=1))
        handover = Handover(
            job_id=entry.job_id,
            job_type=entry.job_type,
            token=make_nonce(self._parts.chance, self._worker_id),
            lease=entry.due.moved_to(starts_at + job_type.lease_length),
        )
        return Claim(handover, self._write(entry, handover, {}), job_type.function)

    def _write(self, entry: DueJob, handover: Handover, also: Mapping[str, object]) -> Write:
        now = self._parts.clock.now()
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
            self._parts.store.jobs.make(write)
        except TransitionRefused as refused:
            # Where it is there already, this try or another's has done the same.
            if refused.current is None or refused.current.due_lane != waits.lane:
                self.report.lost_races += 1
                return
        self.report.held += 1
        self._parts.telemetry.event(
            Event.JOB_HELD, job_id=entry.job_id, job_type=entry.job_type, scope=waits.scope, reason=waits.why
        )

    def _turn_away(self, entry: DueJob, why: str) -> bool:
        """End a new job as its type says if a limit is full; False if it has run before, and shall wait."""
        from leasehold.engine.turn_away import may_be_turned_away, turn_away

        job = self._parts.store.jobs.get(entry.job_id)
        if job is None or not may_be_turned_away(job):
            return False
        if turn_away(job, why, self._parts, worker_id=self._worker_id):
            self.report.turned_away += 1
        else:
            self.report.lost_races += 1
        return True

    def _note_claimed(self, handover: Handover) -> None:
        self.report.claimed += 1
        self._parts.telemetry.event(
            Event.JOB_CLAIMED,
            job_id=handover.job_id,
            job_type=handover.job_type,
            attempt=handover.lease.attempt,
            worker_id=self._worker_id,
            lease_until=handover.lease.at.isoformat(),
        )
        self._parts.telemetry.measure(CLAIMED, 1, job_type=handover.job_type)
