"""Poll: find everything that is due, and see that each of it moves on.

What is at the head of a lane cannot keep what is behind it waiting: an entry that was handled leaves its place, and one
that could not be handled is passed by the cursor. Lower lanes get a share of every round while higher ones are busy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from leasehold.domain.due import lanes_by_priority
from leasehold.domain.errors import LeaseholdError, StoreUnavailableError
from leasehold.domain.lifecycle import JobStatus
from leasehold.engine.admit import (
    EMPTY_LANE_CHECKS,
    LOOK_AGAIN_AFTER,
    SeatPlan,
    hold,
    is_stopped,
    plan_seats,
)
from leasehold.engine.claim import claim, claim_seat, expire_if_too_late
from leasehold.engine.reap import reap
from leasehold.engine.release import release
from leasehold.engine.settle import settle
from leasehold.engine.telemetry import HEARTBEAT, POLL_SCANNED, Event
from leasehold.store.jobs import DueJob, DueScope, TransitionRefused

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from leasehold.domain.control import Switches
    from leasehold.domain.handover import Handover
    from leasehold.engine.parts import Parts
    from leasehold.engine.ports import Dispatcher
    from leasehold.store.jobs import DueEntry
    from leasehold.store.table import Record

WATCH_LENGTH = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class PollSettings:
    """poll_limit: entries read per query. lower_share: part of it that busy higher lanes leave to each lower one."""

    poll_limit: int = 25
    lower_share: float = 0.2


@dataclass(slots=True)
class PollReport:
    """What one poll did. `stopped_by` says why it ended."""

    scanned: int = 0
    claimed: int = 0
    dispatched: int = 0
    released: int = 0
    reaped: int = 0
    settled: int = 0
    held: int = 0
    expired: int = 0
    lost_races: int = 0
    failed: int = 0
    stopped_by: str = "nothing due"


@dataclass(slots=True)
class _Lane:
    name: str
    shard: int
    cursor: Record | None = None
    is_exhausted: bool = False


@dataclass(slots=True)
class _Poll:
    """The state of one poll."""

    report: PollReport
    lanes: list[list[_Lane]]
    should_stop: Callable[[], str | None]
    seen: set[str] = field(default_factory=set)
    seats: dict[str, SeatPlan] = field(default_factory=dict)
    watched: dict[int, datetime] = field(default_factory=dict)


class Poller:
    """Claims what is due and hands it over. Any number may run at once; each claim is decided by its condition."""

    def __init__(
        self,
        parts: Parts,
        dispatcher: Dispatcher,
        *,
        worker_id: str,
        settings: PollSettings | None = None,
    ) -> None:
        self._parts = parts
        self._dispatcher = dispatcher
        self._worker_id = worker_id
        self._settings = settings or PollSettings()

    def poll(self, *, should_stop: Callable[[], str | None] = lambda: None) -> PollReport:
        """Work until nothing is due, `should_stop` names a reason, or the system is halted.

        A stop never interrupts a hand-over: it is noticed between two entries.
        """
        self._parts.telemetry.measure(HEARTBEAT, 1)
        report = PollReport()
        if self._is_halted(report):
            return report
        registry = self._parts.deployment.registry()
        lanes = [
            [_Lane(name, shard) for shard, name in enumerate(names)] for names in lanes_by_priority(registry.shards)
        ]
        state = _Poll(report=report, lanes=lanes, should_stop=should_stop)
        try:
            self._rounds(state)
            if state.watched and report.stopped_by == "nothing due":
                # Whoever found us watching left its work to us: give the watch up first, then look once more.
                self._give_up_watches(state)
                for lane in (each for level in lanes for each in level):
                    lane.cursor, lane.is_exhausted = None, False
                self._rounds(state)
        finally:
            self._give_up_watches(state)
        self._parts.telemetry.measure(POLL_SCANNED, report.scanned)
        self._parts.telemetry.event(
            Event.POLL_FINISHED,
            worker_id=self._worker_id,
            **{name: getattr(report, name) for name in PollReport.__slots__},
        )
        return report

    def _rounds(self, state: _Poll) -> None:
        while any(not lane.is_exhausted for level in state.lanes for lane in level):
            is_busy_above = False
            for level in state.lanes:
                found = False
                for lane in level:
                    if lane.is_exhausted:
                        continue
                    limit = self._limit(below_a_busy_lane=is_busy_above)
                    found = self._visit(lane, limit, state) or found
                    if state.report.stopped_by != "nothing due":
                        return
                is_busy_above = is_busy_above or found

    def _limit(self, *, below_a_busy_lane: bool) -> int:
        limit = self._settings.poll_limit
        return max(1, int(limit * self._settings.lower_share)) if below_a_busy_lane else limit

    def _visit(self, lane: _Lane, limit: int, state: _Poll) -> bool:
        """Handle one page of a lane; True if there was anything in it."""
        page = self._parts.store.jobs.due(lane.name, self._parts.clock.now(), limit=limit, after=lane.cursor)
        lane.cursor = page.cursor
        lane.is_exhausted = page.cursor is None
        state.report.scanned += len(page.entries)
        fresh = [entry for entry in page.entries if entry.due_key not in state.seen]
        if not fresh:
            return bool(page.entries)
        # After the page was read: a pause that ended before then is not mistaken for one that goes on.
        if self._is_halted(state.report):
            return True
        switches = self._parts.deployment.switches()
        if len(page.entries) == self._settings.poll_limit and not self._watch(lane.shard, state):
            lane.is_exhausted = True
            return True
        for entry in fresh:
            reason = state.should_stop()
            if reason is not None:
                state.report.stopped_by = reason
                return True
            state.seen.add(entry.due_key)
            lost_before = state.report.lost_races
            self._handle(entry, switches, state)
            if state.report.lost_races > lost_before and not self._watch(lane.shard, state):
                lane.is_exhausted = True
                return True
        return True

    def _handle(self, entry: DueEntry, switches: Switches, state: _Poll) -> None:
        try:
            match entry:
                case DueScope():
                    self._admit_held(entry, switches, state)
                case DueJob(status=JobStatus.PENDING | JobStatus.FAILED):
                    self._offer(entry, switches, state)
                case DueJob(status=JobStatus.IN_PROGRESS):
                    if reap(entry, self._parts):
                        state.report.reaped += 1
                case DueJob(status=JobStatus.COMPLETED | JobStatus.CANCELLED | JobStatus.DEAD_LETTER):
                    if settle(entry, self._parts):
                        state.report.settled += 1
                case DueJob():
                    raise AssertionError(f"no such status: {entry.status}")
                case _:
                    assert_never(entry)
        except StoreUnavailableError:
            raise
        except Exception as error:
            state.report.failed += 1
            code = error.code if isinstance(error, LeaseholdError) else type(error).__name__
            self._parts.telemetry.event(Event.ENTRY_FAILED, entry=entry.due_key, error_code=code, error=str(error))

    def _offer(self, entry: DueJob, switches: Switches, state: _Poll) -> None:
        """Claim a waiting job and hand it over, or hold it where it may not run now."""
        registry = self._parts.deployment.registry()
        why = is_stopped(entry.job_type, switches, registry)
        if why is None and registry.types[entry.job_type].concurrency is not None:
            plan = self._plan(entry.job_type, state)
            if plan.is_full:
                why = "at its concurrency limit"
        if why is None:
            self._claim_and_hand_over(entry, state)
        elif hold(entry, why, self._parts):
            state.report.held += 1

    def _claim_and_hand_over(self, entry: DueJob, state: _Poll) -> bool:
        job_type = self._parts.deployment.registry().types[entry.job_type]
        try:
            if job_type.concurrency is None:
                handover = claim(entry, job_type, self._worker_id, self._parts)
            else:
                plan = self._plan(entry.job_type, state)
                seated = claim_seat(entry, job_type, plan, self._worker_id, self._parts)
                if seated is None:
                    return False
                handover = seated
        except TransitionRefused as refused:
            if expire_if_too_late(refused.current, self._parts):
                state.report.expired += 1
            else:
                state.report.lost_races += 1
            return True
        state.report.claimed += 1
        self._hand_over(handover, job_type.function, state)
        return True

    def _hand_over(self, handover: Handover, function: str | None, state: _Poll) -> None:
        try:
            self._dispatcher.dispatch(handover, function)
        except Exception as error:
            if release(handover, f"{type(error).__name__}: {error}", self._parts):
                state.report.released += 1
            return
        state.report.dispatched += 1

    def _admit_held(self, entry: DueScope, switches: Switches, state: _Poll) -> None:
        """Claim straight from a hold lane, in order, as many as may run; then say when to look again."""
        scope, holds = entry.scope, self._parts.store.holds
        job_type = scope.removeprefix("type:")
        registry = self._parts.deployment.registry()
        if is_stopped(job_type, switches, registry) is not None:
            holds.park(scope, entry.due_key)
            return
        limited = registry.types[job_type].concurrency is not None
        current = holds.state(scope)
        if current.due_key != entry.due_key:
            return  # somebody touched it since the index saw it: its new entry will be seen
        plan = plan_seats(registry.types[job_type], current, self._parts) if limited else None
        if plan is not None:
            state.seats[scope] = plan
        now = self._parts.clock.now()
        while plan is None or not plan.is_full:
            page = self._parts.store.jobs.held(scope, limit=self._settings.poll_limit)
            fresh = [held for held in page.entries if isinstance(held, DueJob) and held.due_key not in state.seen]
            if not fresh:
                if page.entries:
                    holds.postpone(scope, entry.due_key, now + LOOK_AGAIN_AFTER, now)
                else:
                    self._doubt_empty_lane(entry, current.empty_checks, now)
                return
            for held in fresh:
                reason = state.should_stop()
                if reason is not None:
                    state.report.stopped_by = reason
                    return
                state.seen.add(held.due_key)
                state.report.scanned += 1
                if not self._claim_and_hand_over(held, state):
                    break
        soonest = min(plan.next_free_at or now + LOOK_AGAIN_AFTER, now + LOOK_AGAIN_AFTER)
        holds.postpone(scope, entry.due_key, max(soonest, now + timedelta(milliseconds=1)), now)

    def _doubt_empty_lane(self, entry: DueScope, checks: int, now: datetime) -> None:
        if checks >= len(EMPTY_LANE_CHECKS):
            self._parts.store.holds.forget(entry.scope, entry.due_key)
        else:
            at = now + EMPTY_LANE_CHECKS[checks]
            self._parts.store.holds.postpone(entry.scope, entry.due_key, at, now, empty_checks=checks + 1)

    def _plan(self, job_type: str, state: _Poll) -> SeatPlan:
        settings = self._parts.deployment.registry().types[job_type]
        if settings.scope not in state.seats:
            current = self._parts.store.holds.state(settings.scope)
            # Where jobs wait already, a new one queues behind them.
            plan = SeatPlan() if current.is_waiting else plan_seats(settings, current, self._parts)
            state.seats[settings.scope] = plan
        return state.seats[settings.scope]

    def _is_halted(self, report: PollReport) -> bool:
        halt = self._parts.deployment.switches(fresh=True).halt
        if halt is None:
            return False
        report.stopped_by = "halt"
        self._parts.telemetry.event(
            Event.POLL_PAUSED, message="job worker paused due to system halt", by=halt.by, reason=halt.reason
        )
        return True

    def _watch(self, shard: int, state: _Poll) -> bool:
        """Whether this poller is the one to work off a backlog; asked only where there is one, or a rival."""
        now = self._parts.clock.now()
        if state.watched.get(shard, now) > now + WATCH_LENGTH / 2:
            return True
        if self._parts.store.switchboard.take_watch(shard, self._worker_id, now, now + WATCH_LENGTH):
            state.watched[shard] = now + WATCH_LENGTH
            return True
        state.watched.pop(shard, None)
        return False

    def _give_up_watches(self, state: _Poll) -> None:
        for shard in list(state.watched):
            del state.watched[shard]
            self._parts.store.switchboard.give_up_watch(shard, self._worker_id)
