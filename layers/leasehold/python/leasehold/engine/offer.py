"""Offer: hand a waiting job to its handler if it may run now; else hold it, or turn it away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.domain.limits import OnFull, type_scope
from leasehold.engine.claim import claim, claim_with_seats, expire_if_too_late, prepare
from leasehold.engine.claim_ahead import ClaimsAhead
from leasehold.engine.hold import expect_held, hold, stop_of
from leasehold.engine.ports import make_stamp
from leasehold.engine.probe import Probes, give_up
from leasehold.engine.seating import Seating, plan_seats
from leasehold.store.holds import ProbeTaken, SeatsTaken
from leasehold.store.jobs import TransitionRefused

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.domain.breaker import Circuit
    from leasehold.domain.control import Switches
    from leasehold.domain.handover import Handover
    from leasehold.domain.job_type import JobType
    from leasehold.domain.limits import ConcurrencyPolicy, Limit
    from leasehold.engine.hold import Stop
    from leasehold.engine.parts import Parts
    from leasehold.engine.ports import Dispatcher
    from leasehold.engine.report import PollReport
    from leasehold.store.jobs import DueJob


class Offers:
    """What one poll offers. It remembers, for as long as the poll lasts, which seats are free and who waits."""

    def __init__(
        self,
        parts: Parts,
        dispatcher: Dispatcher,
        worker_id: str,
        report: PollReport,
        policy: ConcurrencyPolicy,
    ) -> None:
        self._parts = parts
        self._dispatcher = dispatcher
        self._worker_id = worker_id
        self._report = report
        self._policy = policy
        self.seating = Seating(parts)
        self.probes = Probes(parts)
        self.ahead = ClaimsAhead(parts, worker_id, report, policy)
        self._expected: set[str] = set()
        self._filled: dict[str, Limit] = {}

    def offer(self, entry: DueJob, switches: Switches, *, coming_from: str | None = None) -> Limit | None:
        """Claim a waiting job and hand it over, or see that it waits where it is in nobody's way.

        A job that comes from a hold lane stays there if that is where it must wait: then its limit is the answer.
        """
        if self.ahead.has_decided(entry):
            self._claim_and_hand_over(entry, coming_from)
            return None
        stop = stop_of(entry.job_type, switches, self._parts)
        circuit = self.probes.due(entry.job_type, stop)
        if stop is not None and circuit is None:
            self._hold_back(entry, stop, coming_from)
            return None
        try:
            full = self._claim_and_hand_over(entry, coming_from, circuit)
        except ProbeTaken:
            assert stop is not None
            self._hold_back(entry, stop, coming_from)
            return None
        if full is None or full.scope == coming_from:
            return full
        if circuit is not None and coming_from == type_scope(entry.job_type):
            return full  # no probe this time: it goes on waiting where the circuit keeps it
        if coming_from is not None or not self._turn_away(entry, full):
            self._filled[full.scope] = full
            self._hold(entry, full.scope, full.reason, look_at=self.seating.plan(full).next_free_at)
        return None

    def look_after_filled_scopes(self) -> None:
        """A seat that was freed while its scope was seen as full, and before a job was held, woke nobody: do it now."""
        while self._filled:
            scope, limit = self._filled.popitem()
            self.seating.forget(scope)
            if not plan_seats(limit, self._parts.store.holds.state(scope), self._parts).is_full:
                self._parts.store.holds.nudge(scope, self._parts.clock.now(), stamp=self._stamp())

    def give_back(self, reason: str) -> None:
        """Release at once what was claimed ahead and cannot be handed over any more: others need not wait for it."""
        claimed, undecided = self.ahead.take_back()
        for each in (*claimed, *undecided):
            if self._release(each.handover, reason, until=self._parts.clock.now()) and each in undecided:
                self.ahead.note_claimed(each)

    def hand_over_rest(self) -> None:
        for claimed in self.ahead.take_back()[0]:
            self._hand_over(claimed.handover, claimed.function, None)

    def _hold_back(self, entry: DueJob, stop: Stop, coming_from: str | None) -> None:
        scope = type_scope(entry.job_type)
        if scope != coming_from:
            self._hold(entry, scope, stop.reason, look_at=stop.until)

    def _hold(self, entry: DueJob, scope: str, why: str, *, look_at: datetime | None) -> None:
        if scope not in self._expected:
            if not expect_held(scope, self._parts, look_at=look_at):
                return
            self._expected.add(scope)
        if hold(entry, scope, why, self._parts):
            self._report.held += 1

    def _turn_away(self, entry: DueJob, full: Limit) -> bool:
        """End a new job as its type says if a limit is full; False if it shall wait."""
        from leasehold.engine.turn_away import may_be_turned_away, turn_away

        job_type = self._parts.deployment.registry().types[entry.job_type]
        if job_type.on_full is OnFull.WAIT or not full.is_own:
            return False
        # Whom we send away does not come back: what this poll remembers of the seats is not enough.
        if not self.seating.plan(full, fresh=True).is_full:
            return False
        job = self._parts.store.jobs.get(entry.job_id)
        if job is None or not may_be_turned_away(job):
            return False
        if turn_away(job, full.reason, self._parts, worker_id=self._worker_id):
            self._report.turned_away += 1
        else:
            self._report.lost_races += 1
        return True

    def _claim_and_hand_over(
        self, entry: DueJob, coming_from: str | None, circuit: Circuit | None = None
    ) -> Limit | None:
        """The limit that has no room for it, and then the job is as it was; else None."""
        registry = self._parts.deployment.registry()
        job_type = registry.types[entry.job_type]
        limits: tuple[Limit, ...] = ()
        try:
            handover = self.ahead.claimed(entry)
            if handover is None:
                limits = self._policy.limits_of(job_type, entry.concurrency_key, registry)
                handover = self._claim(entry, job_type, limits, coming_from, circuit)
        except TransitionRefused as refused:
            if expire_if_too_late(refused.current, self._parts):
                self._report.expired += 1
            else:
                self._report.lost_races += 1
            return None
        if handover is None:
            return self.seating.first_without_room(limits, coming_from=coming_from)
        self._hand_over(handover, job_type.function, circuit)
        return None

    def _claim(
        self,
        entry: DueJob,
        job_type: JobType,
        limits: tuple[Limit, ...],
        coming_from: str | None,
        circuit: Circuit | None,
    ) -> Handover | None:
        if not limits and circuit is None:
            return self._claim_alone(entry, job_type)
        while self.seating.first_without_room(limits, coming_from=coming_from) is None:
            choices = self.seating.choose(limits)
            try:
                handover = claim_with_seats(entry, job_type, choices, self._worker_id, self._parts, probing=circuit)
            except SeatsTaken as taken:
                self.seating.put_back(each for each in choices if each.limit.scope not in taken.scopes)
            except ProbeTaken:
                assert circuit is not None
                self.probes.note_sent(entry.job_type, circuit)
                self.seating.put_back(choices)
                raise
            except BaseException:
                self.seating.put_back(choices)
                raise
            else:
                self._report.claimed += 1
                self.seating.note_taken(choices, job_type)
                if circuit is not None:
                    self.probes.note_sent(entry.job_type, circuit)
                return handover
        return None

    def _claim_alone(self, entry: DueJob, job_type: JobType) -> Handover:
        asked = self.ahead.undecided(entry)
        wanted = asked or prepare(entry, job_type, self._worker_id, self._parts)
        handover = claim(wanted, self._worker_id, self._parts)
        self._report.claimed += 1
        if asked is not None:
            self.ahead.note_alone(entry)
        return handover

    def _hand_over(self, handover: Handover, function: str | None, circuit: Circuit | None) -> None:
        try:
            self._dispatcher.dispatch(handover, function)
        except Exception as error:
            if self._release(handover, f"{type(error).__name__}: {error}") and circuit is not None:
                give_up(handover, circuit, self._parts)
            return
        self._report.dispatched += 1

    def _release(self, handover: Handover, reason: str, *, until: datetime | None = None) -> bool:
        from leasehold.engine.release import release

        is_back = release(handover, reason, self._parts, until=until)
        self._report.released += is_back
        return is_back

    def _stamp(self) -> str:
        return make_stamp(self._parts.chance)
