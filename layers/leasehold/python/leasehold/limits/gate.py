"""The gate: a poll brings the jobs that are not plain here, and the scopes that are due.

Who may run is claimed together with what its admission takes (seats, the note of a probe); others are held where they
are in nobody's way, or end. It is opened once per poll and remembers what it has read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from leasehold.kernel.claim import UNDER_WAY
from leasehold.kernel.end import Ending
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.job import Outcome
from leasehold.kernel.jobs import Write
from leasehold.kernel.other_entries import DueScope, FreedScope
from leasehold.kernel.refusals import TransitionRefused
from leasehold.kernel.table import TransactionCancelled, request_token
from leasehold.kernel.transitions import HOLD, SKIP, TURN_AWAY
from leasehold.kernel.type_options import OnFull
from leasehold.limits.admission import Admission, TurnedAway, Waits, stop_of
from leasehold.limits.seating import make_due
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.kernel.jobs import DueJob
    from leasehold.kernel.poll import Poll
    from leasehold.kernel.registry import Switches
    from leasehold.kernel.services import Services
    from leasehold.limits.admission import Admitted
    from leasehold.limits.visit import Visits

_TRIES = 3


def gate_of(poll: Poll) -> LimitsGate:
    """The one that this poll has opened, or does now."""
    poll.claims.gate = poll.claims.gate or LimitsGate(poll)
    return poll.claims.gate


class LimitsGate:
    def __init__(self, poll: Poll) -> None:
        self.poll = poll
        self.services: Services = poll.services
        self.admission: Admission = Admission(poll.services, poll.poller.policy)
        # Opened by the first scope that is due.
        self._visits: Visits | None = None

    # --- jobs

    def concerns(self, entry: DueJob, switches: Switches) -> bool:
        """Whether anything but the job's own condition decides about it."""
        return (
            entry.job_type not in self.services.deployment.registry().types
            or stop_of(entry.job_type, switches, self.services) is not None
            or bool(self.admission.limits_of(entry.job_type, entry.concurrency_key))
        )

    def offer(self, entry: DueJob, switches: Switches) -> None:
        """Claim a waiting job that more than its own condition decides about, or see that it waits in nobody's way."""
        must_wait = False
        for _ in range(_TRIES):
            decision = self.admission.admit(entry, switches, must_wait=must_wait)
            match decision:
                case Waits():
                    self._hold(entry, decision)
                    return
                case TurnedAway(why):
                    if self._turn_away(entry, why):
                        return
                    must_wait = True
                case None:
                    return
                case _:
                    if self.claim(entry, decision):
                        return

    def _hold(self, entry: DueJob, waits: Waits) -> None:
        """Move a due job to where it waits, unless it is not what the index showed."""
        seen = {"due_key": entry.due_key, "due_lane": entry.lane}
        write = Write(job_id=entry.job_id, transition=HOLD, seen=seen, values={"due_lane": waits.lane})
        try:
            self.services.store.jobs.apply(write)
        except TransitionRefused as refused:
            # Where it is there already, this try or another's has done the same.
            if refused.current is None or refused.current.due_lane != waits.lane:
                self.poll.report.lost_races += 1
                return
        self.poll.report.held += 1
        self.services.telemetry.event(
            Event.JOB_HELD, job_id=entry.job_id, job_type=entry.job_type, scope=waits.scope, reason=waits.why
        )

    def _turn_away(self, entry: DueJob, why: str) -> bool:
        """End a new job as its type says; False if it has run before and shall wait."""
        services, report = self.services, self.poll.report
        job = services.store.jobs.get(entry.job_id)
        # A job that has run before is owed its next attempt, however full it is.
        if job is None or not job.status.is_waiting or job.last_attempt_at is not None:
            return False
        on_full = services.deployment.settings_of(job.job_type).on_full
        match on_full:
            case OnFull.SKIP:  # completed without having run; its history says why
                worker = self.poll.poller.worker_id
                ending = Ending(job, SKIP, services, outcome=Outcome.SKIPPED, reason=why, worker=worker)
            case OnFull.CANCEL_NEW:
                ending = Ending(job, TURN_AWAY, services, reason=why)
            case OnFull.WAIT:
                raise ValueError(f"{job.job_type} waits when it is full")
            case _:
                assert_never(on_full)
        is_ended = ending.conclude()
        report.turned_away += is_ended
        report.lost_races += not is_ended
        return True

    def claim(self, entry: DueJob, admitted: Admitted) -> bool:
        """Take the lease on a job that was admitted, together with what joins its claim, and hand it over.

        All of it is one transaction. False if what was to join is not what it was: decide anew.
        """
        claims = self.poll.claims
        claims.hand_overs.wait(at_most=UNDER_WAY)
        claim = replace(claims.prepare(entry), admitted=admitted)
        changes, values = admitted.join(claim.handover)
        write = replace(claim.write, values={**claim.write.values, **values})
        try:
            # A fresh token for a fresh content: the seats of two tries differ.
            self.services.store.jobs.apply_with(write, changes, token=request_token(claim.handover.token))
        except TransactionCancelled as cancelled:
            admitted.refused([at - 1 for at in cancelled.failed])
            return False
        except TransitionRefused as refused:
            admitted.refused(())
            claims.note_refused(refused)
            return True
        except BaseException:
            admitted.refused(())
            raise
        admitted.claimed()
        claims.note_claimed(claim.handover)
        claims.hand_overs.hand_over(claim)
        return True

    # --- scopes

    def take(self, scopes: Sequence[DueScope | FreedScope], switches: Switches) -> None:
        """Look at these, as far as there is time. Nothing but its scope would tell of a freed seat."""
        for scope in scopes:
            is_seen = self.poll.may_go_on() and self.poll.claims.handle(scope, switches)
            if isinstance(scope, FreedScope) and not is_seen:
                self._look_later(scope)

    def _look_later(self, freed: FreedScope) -> None:
        try:
            make_due([freed.scope], self.services)
        except StoreUnavailableError:
            raise
        except Exception as error:
            self.poll.claims.note_failed(freed.scope, error)

    def visit(self, scope: DueScope | FreedScope, switches: Switches) -> None:
        """A seat may be free here, or a stop may be over."""
        if self._visits is None:
            from leasehold.limits.visit import Visits

            self._visits = Visits(self)
        if isinstance(scope, DueScope):
            self._visits.begin(scope.scope, scope, switches)
        else:
            self._visits.look_now(scope.scope, switches)

    @property
    def is_open(self) -> bool:
        return self._visits is not None and bool(self._visits.open)

    def after_page(self) -> None:
        self.admission.after_page()
        if self._visits is not None:
            self._visits.looks.put_off_in_vain()

    def go_on(self) -> bool:
        """One more page for each who waited for a seat; True if any goes on."""
        visits = self._visits
        return visits is not None and bool(visits.open) and self.poll.read_switches().halt is None and visits.go_on()

    def close(self) -> None:
        if self._visits is not None:
            self._visits.close()
