"""Poll: find everything that is due, and see that each of it moves on.

What is at the head of a lane cannot keep what is behind it waiting: an entry that was handled leaves its place, and one
that could not be handled is passed by the cursor. Lower lanes get a share of every round while higher ones are busy.

What only some entries need is imported when one is met: a poller is started for a job that is due now.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from leasehold.domain.due import Due, lanes_by_priority
from leasehold.domain.errors import LeaseholdError, StoreError, StoreUnavailableError
from leasehold.domain.ids import shard_of
from leasehold.domain.lean import dataclass
from leasehold.domain.lifecycle import JobStatus
from leasehold.engine.telemetry import HEARTBEAT, POLL_SCANNED, Event
from leasehold.engine.trust import trusted_entries, trusted_jobs
from leasehold.engine.watch import Watches
from leasehold.kernel.admission import Gatekeeper
from leasehold.kernel.claim import Claims
from leasehold.kernel.report import HALT, PollReport
from leasehold.store.jobs import DueGroup, DueJob, DueSchedule, DueScope, DueUnreadable
from leasehold.store.lines import is_asked_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from leasehold.domain.control import Switches
    from leasehold.domain.limits import ConcurrencyPolicy
    from leasehold.engine.parts import Parts
    from leasehold.engine.ports import Dispatcher
    from leasehold.kernel.admission import Visits
    from leasehold.store.jobs import DueEntry
    from leasehold.store.table import Record


# An entry that could not be handled is tried again, and a lane that was left to others is looked at.
_FORGOTTEN_AFTER = timedelta(seconds=30)
_READ_AGAIN_AFTER = timedelta(milliseconds=500)
# From here on it pays to be alone: the watch costs two writes, and saves a call for every further job.
_BACKLOG = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PollSettings:
    """poll_limit: entries read per query. lower_share: part of it that busy higher lanes leave to each lower one.

    claims_at_once: plain jobs claimed by one call, 25 at most. A poller that dies before it has handed them over
        leaves so many leases to be reaped; 1 claims every job by itself.
    leaves_to_wakes: for so long a scope that was just made due is left to whoever is on the way because of it.
    """

    poll_limit: int = 25
    lower_share: float = 0.2
    claims_at_once: int = 25
    leaves_to_wakes: timedelta = timedelta(0)


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
        self._policy = policy

    def poll(
        self, *, hints: Sequence[DueJob | DueScope] = (), should_stop: Callable[[], str | None] = lambda: None
    ) -> PollReport:
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
    read_at: datetime | None = None


class _Run:
    """One poll."""

    def __init__(
        self,
        parts: Parts,
        dispatcher: Dispatcher,
        worker_id: str,
        settings: PollSettings,
        *,
        policy: ConcurrencyPolicy | None,
        should_stop: Callable[[], str | None],
    ) -> None:
        self.report = PollReport()
        self._parts = parts
        self._worker_id = worker_id
        self._settings = settings
        self._should_stop = should_stop
        self._watches = Watches(parts, worker_id)
        self._gate = Gatekeeper(parts, policy)
        self._claims = Claims(parts, dispatcher, worker_id, self.report, self._gate)
        self._visits: Visits | None = None
        # Due keys that were handled, or could not be; forgotten after a while, so that a long poll tries again.
        self._seen: dict[str, datetime] = {}
        # Lanes that another poller works off: it looks at them again after it has given up its watch.
        self._left_to_others: set[str] = set()

    def to_the_end(self, hints: Sequence[DueJob | DueScope]) -> None:
        if self._is_halted():
            return
        try:
            self._take(hints)
            while self._sweep() and self.report.goes_on:
                # Whoever found us watching left its work to us: give the watch up first, then look once more.
                self._watches.give_up()
        finally:
            if self._visits is not None:
                self._visits.close()
            self._watches.give_up()

    def _take(self, hints: Sequence[DueJob | DueScope]) -> None:
        now = self._parts.clock.now()
        switches = self._parts.deployment.switches()
        for hint in hints:
            if isinstance(hint, DueScope) and self._may_go_on():
                early = Due.parse(hint.due_key).at - self._parts.clock.now()
                if timedelta(0) < early < _FORGOTTEN_AFTER / 30:
                    self._parts.clock.sleep(early)
                self._handle(hint, switches)
        due = [hint for hint in trusted_jobs(hints, self._parts) if hint.due.at <= now]
        # Without the watch they are claimed all the same: the index of whoever has it may not show them yet.
        is_watched = self._is_backlog(due) and all(self._watches.take(shard_of(hint.job_id)) for hint in due)
        self._work_off(due, switches, is_watched=is_watched, stop_at_lost_race=False)
        self._after_page()

    def _sweep(self) -> bool:
        """Work through all lanes once; True if there was anything that this poll had not seen yet."""
        lanes = [
            [_Lane(name, shard, is_exhausted=name in self._left_to_others) for shard, name in enumerate(names)]
            for names in lanes_by_priority(self._parts.deployment.registry().shards)
        ]
        self._forget_old()
        seen_before = len(self._seen)
        while any(not lane.is_exhausted for level in lanes for lane in level):
            is_busy_above = False
            self._reopen(lane for level in lanes for lane in level)
            for level in lanes:
                found = False
                for lane in level:
                    if lane.is_exhausted:
                        continue
                    found = self._visit(lane, self._limit(below_a_busy_lane=is_busy_above)) or found
                    if not self.report.goes_on:
                        return True
                is_busy_above = is_busy_above or found
        # Whoever waited is served a page at a time, so that what falls due meanwhile has its turn in between.
        has_guests = self._visits is not None and not self._is_halted() and self._visits.go_on()
        return has_guests or len(self._seen) > seen_before

    def _reopen(self, lanes: Iterable[_Lane]) -> None:
        """While some lane takes long, what falls due in the others does not wait for its end."""
        now = self._parts.clock.now()
        for lane in lanes:
            if lane.is_exhausted and lane.read_at is not None and now - lane.read_at >= _READ_AGAIN_AFTER:
                lane.cursor, lane.is_exhausted = None, lane.name in self._left_to_others

    def _forget_old(self) -> None:
        now = self._parts.clock.now()
        if any(now - at >= _FORGOTTEN_AFTER for at in self._seen.values()):
            self._seen = {key: at for key, at in self._seen.items() if now - at < _FORGOTTEN_AFTER}
            self._left_to_others.clear()

    def _limit(self, *, below_a_busy_lane: bool) -> int:
        limit = self._settings.poll_limit
        return max(1, int(limit * self._settings.lower_share)) if below_a_busy_lane else limit

    def _visit(self, lane: _Lane, limit: int) -> bool:
        """Handle one page of a lane; True if there was anything in it."""
        page = self._parts.store.jobs.due(lane.name, self._parts.clock.now(), limit=limit, after=lane.cursor)
        before, lane.cursor, lane.read_at = lane.cursor, page.cursor, self._parts.clock.now()
        lane.is_exhausted = page.cursor is None
        self.report.scanned += len(page.entries)
        unseen = [entry for entry in page.entries if entry.due_key not in self._seen and not self._is_awaited(entry)]
        fresh = trusted_entries(unseen, self._parts)
        self._seen.update((entry.due_key, self._parts.clock.now()) for entry in unseen if entry not in fresh)
        # Read after the page: a pause that ended before the page was written is not mistaken for one that goes on.
        if not fresh or self._is_halted():
            return bool(page.entries)
        switches = self._parts.deployment.switches()
        if self._is_backlog(page.entries) and not self._may_watch(lane):
            return True
        # Jobs first: what waited for a seat is a guest in this lane.
        fresh.sort(key=lambda entry: isinstance(entry, DueScope))
        entries, lane.is_contended = fresh[::-1] if lane.is_contended else fresh, False
        lost_before = self.report.lost_races
        self._work_off(entries, switches, is_watched=self._watches.has(lane.shard))
        if self.report.lost_races > lost_before:
            # The winner is one step ahead on the same page: read it again and meet the winner from the other end.
            lane.cursor, lane.is_exhausted, lane.is_contended = before, False, True
            self._may_watch(lane)
        self._after_page()
        return True

    def _is_awaited(self, entry: DueEntry) -> bool:
        if not isinstance(entry, DueScope):
            return False
        due, now = Due.parse(entry.due_key), self._parts.clock.now()
        return is_asked_for(entry.due_key) and now - due.at < self._settings.leaves_to_wakes

    def _work_off(
        self,
        entries: Sequence[DueEntry],
        switches: Switches,
        *,
        is_watched: bool = False,
        stop_at_lost_race: bool = True,
    ) -> None:
        """Handle these; whoever has the watch is alone here, and claims as many as may be at once together."""
        stride = self._settings.claims_at_once if is_watched else 1
        lost_before = self.report.lost_races
        for begin in range(0, len(entries), stride):
            has_lost = stop_at_lost_race and self.report.lost_races > lost_before
            if has_lost or not self._may_go_on():
                return
            self._take_stride(entries[begin : begin + stride], switches, stop_at_lost_race=stop_at_lost_race)

    def _take_stride(self, entries: Sequence[DueEntry], switches: Switches, *, stop_at_lost_race: bool) -> None:
        lost_before = self.report.lost_races
        plain = [entry for entry in entries if isinstance(entry, DueJob) and entry.due.afterwards is None]
        self._claims.take_ahead(plain, switches)
        try:
            for position, entry in enumerate(entries):
                has_lost = stop_at_lost_race and self.report.lost_races > lost_before
                # What nobody decided yet will be read again; what is ours already is handed over in any case.
                is_decided = isinstance(entry, DueJob) and self._claims.has_decided(entry)
                if has_lost and not is_decided:
                    continue
                if position and not self._may_go_on():
                    break
                self._seen[entry.due_key] = self._parts.clock.now()
                self._handle(entry, switches)
        except StoreUnavailableError:
            self._claims.hand_over_rest()  # that needs no table
            raise
        self._claims.give_back(f"not handed over: {self.report.stopped_by}")

    def _is_backlog(self, entries: Sequence[DueEntry]) -> bool:
        return len(entries) >= min(_BACKLOG, self._settings.poll_limit)

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
                    self._open_visits().begin(entry, switches)
                case DueJob():
                    self._handle_job(entry, switches)
                case DueSchedule():
                    from leasehold.engine.trigger import trigger

                    self.report.triggered += len(trigger(entry.name, self._parts))
                case DueGroup():
                    from leasehold.engine.tend_group import tend

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
            case JobStatus.PENDING | JobStatus.FAILED if entry.due.afterwards is not None:
                from leasehold.kernel.end import settle

                self.report.settled += settle(entry, self._parts)
            case JobStatus.PENDING | JobStatus.FAILED:
                self._claims.offer(entry, switches)
            case JobStatus.IN_PROGRESS:
                from leasehold.engine.reap import reap

                self.report.reaped += reap(entry, self._parts)
            case JobStatus.COMPLETED | JobStatus.CANCELLED | JobStatus.DEAD_LETTER:
                from leasehold.kernel.end import settle

                self.report.settled += settle(entry, self._parts)
            case _:
                assert_never(entry.status)

    def _after_page(self) -> None:
        self._gate.after_page()
        if self._visits is not None:
            self._visits.after_page()

    def _open_visits(self) -> Visits:
        if self._visits is None:
            self._visits = self._gate.opened.visits(
                self._claims,
                page_limit=self._settings.poll_limit,
                lower_share=self._settings.lower_share,
                may_go_on=self._may_go_on,
            )
        return self._visits

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
