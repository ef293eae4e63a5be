"""Offer: hand a waiting job to its handler if it may run now, else hold it; and admit held jobs when they may."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.job_type import type_scope
from leasehold.engine.admit import (
    EMPTY_LANE_CHECKS,
    LOOK_AGAIN_AFTER,
    LOOK_SHORTLY_AFTER,
    SeatPlan,
    expect_held,
    hold,
    is_stopped,
    plan_seats,
)
from leasehold.engine.claim import claim, claim_seat, expire_if_too_late
from leasehold.engine.ports import make_stamp
from leasehold.engine.release import release
from leasehold.store.jobs import DueJob, TransitionRefused

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.domain.control import Switches
    from leasehold.domain.handover import Handover
    from leasehold.domain.job_type import JobType
    from leasehold.engine.parts import Parts
    from leasehold.engine.ports import Dispatcher
    from leasehold.engine.report import PollReport
    from leasehold.store.jobs import DueScope
    from leasehold.store.table import Record


class Offers:
    """What one poll offers. It remembers, for as long as the poll lasts, which seats are free and who waits."""

    def __init__(
        self,
        parts: Parts,
        dispatcher: Dispatcher,
        worker_id: str,
        report: PollReport,
        *,
        page_limit: int,
        may_go_on: Callable[[], bool],
        is_halted: Callable[[], bool],
    ) -> None:
        self._parts = parts
        self._dispatcher = dispatcher
        self._worker_id = worker_id
        self._report = report
        self._page_limit = page_limit
        self._may_go_on = may_go_on
        self._is_halted = is_halted
        self._plans: dict[str, SeatPlan] = {}
        self._expected: set[str] = set()
        self._filled: set[str] = set()
        self._admitted: set[str] = set()

    def offer(self, entry: DueJob, switches: Switches) -> None:
        """Claim a waiting job and hand it over, or hold it where it may not run now."""
        why = is_stopped(entry.job_type, switches, self._parts)
        if why is None:
            job_type = self._parts.deployment.registry().types[entry.job_type]
            has_room = job_type.concurrency is None or not self._plan(job_type).is_full
            if has_room and self._claim_and_hand_over(entry, job_type):
                return
            why = "at its concurrency limit"
            self._filled.add(job_type.scope)
        self._hold(entry, why)

    def admit(self, entry: DueScope, switches: Switches) -> None:
        """Claim straight from a hold lane, in order, as many as may run; then say when to look again."""
        scope, holds = entry.scope, self._parts.store.holds
        if is_stopped(scope.removeprefix("type:"), switches, self._parts) is not None:
            holds.park(scope, entry.due_key)
            return
        job_type = self._parts.deployment.registry().types[scope.removeprefix("type:")]
        state = holds.state(scope)
        if state.due_key != entry.due_key:
            return  # somebody touched it since the index saw it: its new entry will be seen
        plan = None if job_type.concurrency is None else plan_seats(job_type, state, self._parts)
        if plan is not None:
            self._plans[scope] = plan
        found = self._admit_pages(scope, job_type, plan)
        now = self._parts.clock.now()
        if not found:
            self._doubt_empty_lane(entry, state.empty_checks, now)
        elif plan is None or not plan.is_full:
            holds.postpone(scope, entry.due_key, now + LOOK_SHORTLY_AFTER, now, stamp=self._stamp())
        else:
            soonest = min(plan.next_free_at or now + LOOK_AGAIN_AFTER, now + LOOK_AGAIN_AFTER)
            holds.postpone(
                scope, entry.due_key, max(soonest, now + timedelta(milliseconds=1)), now, stamp=self._stamp()
            )

    def look_after_filled_scopes(self) -> None:
        """A seat that was freed while its scope was seen as full, and before a job was held, woke nobody: do it now."""
        while self._filled:
            scope = self._filled.pop()
            self._plans.pop(scope, None)
            job_type = self._parts.deployment.registry().types[scope.removeprefix("type:")]
            if not plan_seats(job_type, self._parts.store.holds.state(scope), self._parts).is_full:
                self._parts.store.holds.nudge(scope, self._parts.clock.now(), stamp=self._stamp())

    def _admit_pages(self, scope: str, job_type: JobType, plan: SeatPlan | None) -> bool:
        """Whether the lane had anything in it."""
        cursor: Record | None = None
        found = False
        while (plan is None or not plan.is_full) and self._may_go_on():
            page = self._parts.store.jobs.held(scope, limit=self._page_limit, after=cursor)
            found = found or bool(page.entries)
            for held in page.entries:
                if not isinstance(held, DueJob) or held.due_key in self._admitted:
                    continue
                if not self._may_go_on() or not self._claim_and_hand_over(held, job_type):
                    return True
                self._admitted.add(held.due_key)
                self._report.scanned += 1
            cursor = page.cursor
            if cursor is None or self._is_halted():
                return found
        return True

    def _doubt_empty_lane(self, entry: DueScope, checks: int, now: datetime) -> None:
        if checks >= len(EMPTY_LANE_CHECKS):
            self._parts.store.holds.forget(entry.scope, entry.due_key)
        else:
            at = now + EMPTY_LANE_CHECKS[checks]
            self._parts.store.holds.postpone(
                entry.scope, entry.due_key, at, now, stamp=self._stamp(), empty_checks=checks + 1
            )

    def _hold(self, entry: DueJob, why: str) -> None:
        scope = type_scope(entry.job_type)
        if scope not in self._expected:
            if not expect_held(scope, self._parts):
                return
            self._expected.add(scope)
        if hold(entry, why, self._parts):
            self._report.held += 1

    def _claim_and_hand_over(self, entry: DueJob, job_type: JobType) -> bool:
        """False if there was no seat left; the job is as it was."""
        try:
            if job_type.concurrency is None:
                handover = claim(entry, job_type, self._worker_id, self._parts)
            else:
                seated = claim_seat(entry, job_type, self._plan(job_type), self._worker_id, self._parts)
                if seated is None:
                    return False
                handover = seated
        except TransitionRefused as refused:
            if expire_if_too_late(refused.current, self._parts):
                self._report.expired += 1
            else:
                self._report.lost_races += 1
            return True
        self._report.claimed += 1
        self._hand_over(handover, job_type.function)
        return True

    def _hand_over(self, handover: Handover, function: str | None) -> None:
        try:
            self._dispatcher.dispatch(handover, function)
        except Exception as error:
            if release(handover, f"{type(error).__name__}: {error}", self._parts):
                self._report.released += 1
            return
        self._report.dispatched += 1

    def _plan(self, job_type: JobType) -> SeatPlan:
        scope = job_type.scope
        if scope not in self._plans:
            state = self._parts.store.holds.state(scope)
            # Where jobs wait already, a new one queues behind them.
            must_queue = state.is_waiting and state.empty_checks == 0
            self._plans[scope] = SeatPlan() if must_queue else plan_seats(job_type, state, self._parts)
        return self._plans[scope]

    def _stamp(self) -> str:
        return make_stamp(self._parts.chance)
