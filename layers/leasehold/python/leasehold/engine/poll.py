"""Poll: find everything that is due, and see that each of it moves on.

What is at the head of a lane cannot keep what is behind it waiting: an entry that was handled leaves its place, and one
that could not be handled is passed by the cursor. Lower lanes get a share of every round while higher ones are busy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from leasehold.domain.due import lanes_by_priority
from leasehold.domain.errors import LeaseholdError, StoreError, StoreUnavailableError
from leasehold.domain.lifecycle import JobStatus
from leasehold.domain.limits import DeployedLimits
from leasehold.engine.admit import Admissions
from leasehold.engine.offer import Offers
from leasehold.engine.reap import reap
from leasehold.engine.report import HALT, PollReport
from leasehold.engine.settle import settle
from leasehold.engine.telemetry import HEARTBEAT, POLL_SCANNED, Event
from leasehold.engine.tend_group import tend
from leasehold.engine.trigger import trigger
from leasehold.engine.watch import Watches
from leasehold.store.jobs import DueGroup, DueJob, DueSchedule, DueScope, DueUnreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.domain.control import Switches
    from leasehold.domain.limits import ConcurrencyPolicy
    from leasehold.engine.parts import Parts
    from leasehold.engine.ports import Dispatcher
    from leasehold.store.jobs import DueEntry
    from leasehold.store.table import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class PollSettings:
    """poll_limit: entries read per query. lower_share: part of it that busy higher lanes leave to each lower one."""

    poll_limit: int = 25
    lower_share: float = 0.2


class Poller:
    """Claims what is due and hands it over. Any number may run at once; each claim is decided by its condition."""

    def __init__(
        self,
        parts: Parts,
        dispatcher: Dispatcher,
        *,
        worker_id: str,
        settings: PollSettings | None = None,
        policy: ConcurrencyPolicy | None = None,
    ) -> None:
        self._parts = parts
        self._dispatcher = dispatcher
        self._worker_id = worker_id
        self._settings = settings or PollSettings()
        self._policy = policy or DeployedLimits()

    def poll(self, *, hints: Sequence[DueJob] = (), should_stop: Callable[[], str | None] = lambda: None) -> PollReport:
        """Work until nothing is due, `should_stop` names a reason, or the system is halted.

        A stop never interrupts a hand-over: it is noticed between two entries. `hints` are jobs that a stream has
        shown before the index may show them; they are claimed by the same condition as all others.
        """
        self._parts.telemetry.measure(HEARTBEAT, 1)
        run = _Run(
            self._parts, self._dispatcher, self._worker_id, self._settings, policy=self._policy, should_stop=should_stop
        )
        run.to_the_end(hints)
        self._parts.telemetry.measure(POLL_SCANNED, run.report.scanned)
        self._parts.telemetry.event(Event.POLL_FINISHED, worker_id=self._worker_id, **run.report.as_fields())
        return run.report


@dataclass(slots=True)
class _Lane:
    name: str
    shard: int
    cursor: Record | None = None
    is_exhausted: bool = False
    is_contended: bool = False


class _Run:
    """One poll."""

    def __init__(
        self,
        parts: Parts,
        dispatcher: Dispatcher,
        worker_id: str,
        settings: PollSettings,
        *,
        policy: ConcurrencyPolicy,
        should_stop: Callable[[], str | None],
    ) -> None:
        self.report = PollReport()
        self._parts = parts
        self._worker_id = worker_id
        self._settings = settings
        self._should_stop = should_stop
        self._watches = Watches(parts, worker_id)
        self._offers = Offers(parts, dispatcher, worker_id, self.report, policy)
        self._admissions = Admissions(
            parts,
            self._offers,
            self.report,
            page_limit=settings.poll_limit,
            lower_share=settings.lower_share,
            may_go_on=self._may_go_on,
            is_halted=self._is_halted,
        )
        self._seen: set[str] = set()
        # Lanes that another poller works off: it looks at them again after it has given up its watch.
        self._left_to_others: set[str] = set()

    def to_the_end(self, hints: Sequence[DueJob]) -> None:
        if self._is_halted():
            return
        try:
            self._take(hints)
            while self._sweep() and self.report.goes_on:
                # Whoever found us watching left its work to us: give the watch up first, then look once more.
                self._watches.give_up()
        finally:
            self._watches.give_up()

    def _take(self, hints: Sequence[DueJob]) -> None:
        now = self._parts.clock.now()
        switches = self._parts.deployment.switches()
        for hint in hints:
            if hint.due.at <= now and self._may_go_on():
                self._seen.add(hint.due_key)
                self._handle(hint, switches)
        self._offers.look_after_filled_scopes()

    def _sweep(self) -> bool:
        """Work through all lanes once; True if there was anything that this poll had not seen yet."""
        lanes = [
            [_Lane(name, shard, is_exhausted=name in self._left_to_others) for shard, name in enumerate(names)]
            for names in lanes_by_priority(self._parts.deployment.registry().shards)
        ]
        seen_before = len(self._seen)
        while any(not lane.is_exhausted for level in lanes for lane in level):
            is_busy_above = False
            for level in lanes:
                found = False
                for lane in level:
                    if lane.is_exhausted:
                        continue
                    found = self._visit(lane, self._limit(below_a_busy_lane=is_busy_above)) or found
                    if not self.report.goes_on:
                        return True
                is_busy_above = is_busy_above or found
        return len(self._seen) > seen_before

    def _limit(self, *, below_a_busy_lane: bool) -> int:
        limit = self._settings.poll_limit
        return max(1, int(limit * self._settings.lower_share)) if below_a_busy_lane else limit

    def _visit(self, lane: _Lane, limit: int) -> bool:
        """Handle one page of a lane; True if there was anything in it."""
        page = self._parts.store.jobs.due(lane.name, self._parts.clock.now(), limit=limit, after=lane.cursor)
        before, lane.cursor = lane.cursor, page.cursor
        lane.is_exhausted = page.cursor is None
        self.report.scanned += len(page.entries)
        fresh = [entry for entry in page.entries if entry.due_key not in self._seen]
        # Read after the page: a pause that ended before the page was written is not mistaken for one that goes on.
        if not fresh or self._is_halted():
            return bool(page.entries)
        switches = self._parts.deployment.switches()
        is_backlog = len(page.entries) == self._settings.poll_limit
        if is_backlog and not self._may_watch(lane):
            return True
        entries, lane.is_contended = fresh[::-1] if lane.is_contended else fresh, False
        for entry in entries:
            if not self._may_go_on():
                break
            self._seen.add(entry.due_key)
            lost_before = self.report.lost_races
            self._handle(entry, switches)
            if self.report.lost_races > lost_before:
                # The winner is one step ahead on the same page: read it again and meet the winner from the other end.
                lane.cursor, lane.is_exhausted, lane.is_contended = before, False, True
                self._may_watch(lane)
                break
        self._offers.look_after_filled_scopes()
        return True

    def _may_watch(self, lane: _Lane) -> bool:
        if self._watches.take(lane.shard):
            return True
        lane.is_exhausted = True
        self._left_to_others.add(lane.name)
        return False

    def _handle(self, entry: DueEntry, switches: Switches) -> None:
        try:
            match entry:
                case DueScope():
                    self._admissions.admit(entry, switches)
                case DueJob():
                    self._handle_job(entry, switches)
                case DueSchedule():
                    self.report.triggered += len(trigger(entry.name, self._parts))
                case DueGroup():
                    self.report.settled += tend(
                        entry, self._parts, worker_id=self._worker_id, may_go_on=self._may_go_on
                    )
                case DueUnreadable():
                    raise StoreError(f"this due entry cannot be read: {entry.problem}")
                case _:
                    assert_never(entry)
        except StoreUnavailableError:
            raise
        except Exception as error:
            self.report.failed += 1
            code = error.code if isinstance(error, LeaseholdError) else type(error).__name__
            self._parts.telemetry.event(Event.ENTRY_FAILED, entry=entry.due_key, error_code=code, error=str(error))

    def _handle_job(self, entry: DueJob, switches: Switches) -> None:
        match entry.status:
            case JobStatus.PENDING | JobStatus.FAILED:
                self._offers.offer(entry, switches)
            case JobStatus.IN_PROGRESS:
                self.report.reaped += reap(entry, self._parts)
            case JobStatus.COMPLETED | JobStatus.CANCELLED | JobStatus.DEAD_LETTER:
                self.report.settled += settle(entry, self._parts)
            case _:
                assert_never(entry.status)

    def _may_go_on(self) -> bool:
        reason = self._should_stop()
        if reason is not None:
            self.report.stopped_by = reason
        return self.report.goes_on

    def _is_halted(self) -> bool:
        halt = self._parts.deployment.switches(fresh=True).halt
        if halt is None:
            return False
        self.report.stopped_by = HALT
        self._parts.telemetry.event(
            Event.POLL_PAUSED, message="job worker paused due to system halt", by=halt.by, reason=halt.reason
        )
        return True
