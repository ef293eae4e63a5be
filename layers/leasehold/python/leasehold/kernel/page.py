"""Pages: what becomes of the entries that a lane shows. A job is claimed, reaped or settled; a scope is visited.

Entries are decided one after the other, on the poll's own thread. What only some of them need is imported when one is
met: room where hand-overs are bounded, the shard's lock where there is a backlog.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, assert_never

from leasehold.kernel.claim import Claims
from leasehold.kernel.claims_at_once import end_page, take_ahead
from leasehold.kernel.errors import LeaseholdError, StoreError, StoreUnavailableError
from leasehold.kernel.jobs import DueGroup, DueJob, DueSchedule, DueScope, DueUnreadable, FreedScope
from leasehold.kernel.keys import Due, shard_of
from leasehold.kernel.lanes import is_asked_for
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.trust import is_trusted_entry
from leasehold.lean import dataclass
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.kernel.admission import Visits
    from leasehold.kernel.jobs import DueEntry, DuePage
    from leasehold.kernel.poll import Part, Poller, PollReport
    from leasehold.kernel.registry import Registry, Switches
    from leasehold.kernel.table import Record
    from leasehold.pollers.sharing import Sharing

    type Hint = DueJob | DueScope | FreedScope

# From here on it pays to be alone: the lock costs two writes, and saves a call for every further job.
_BACKLOG = 8
# Plain jobs claimed by one request: so many leases a poller leaves to be reaped that dies before it handed them over.
_AT_ONCE = 25
# An entry that could not be handled is tried again, and a lane that was left to others is looked at.
_FORGOTTEN_AFTER = timedelta(seconds=30)


NOTHING_DUE = "nothing due"
HALT = "halt"


@dataclass(slots=True)
class Lane:
    name: str
    shard: int
    cursor: Record | None = None
    is_exhausted: bool = False
    is_contended: bool = False
    read_at: datetime | None = None
    pages: int = 0
    # Pages that showed only jobs that there is no room for.
    in_vain: int = 0


class Pages:
    """What one poll has met."""

    def __init__(
        self, poller: Poller, report: PollReport, should_stop: Callable[[], str | None] | None, part: Part
    ) -> None:
        self.report = report
        self.registry: Registry
        # Due keys that were handled, or could not be; forgotten after a while, so that a long poll tries again.
        self.seen: dict[str, datetime] = {}
        # Lanes that another poller works off: it looks at them again after it has given up its lock.
        self.left_to_others: set[str] = set()
        # Opened by the first backlog, and by the first scope that is due.
        self.sharing: Sharing | None = None
        self.visits: Visits | None = None
        self._poller = poller
        self._services = services = poller.services
        self._settings = poller.settings
        self._should_stop = should_stop
        self._part = part
        window = services.window
        self._room = None if window is None else window.room(services, report, self._may_go_on)
        self._claims = Claims(poller, report, window, should_stop=should_stop, may_go_on=self._may_go_on)

    def take(self, hints: Sequence[Hint], switches: Switches) -> None:
        """What a stream has shown before the index may show it."""
        now = self._services.clock.now()
        for hint in hints:
            if not isinstance(hint, DueScope | FreedScope):
                continue
            is_handled = self._may_go_on() and self.handle(hint, switches)
            if isinstance(hint, FreedScope) and not is_handled:
                self.handle(hint, switches, is_left=True)
        due = [hint for hint in hints if isinstance(hint, DueJob) and hint.due.at <= now]
        due = self._ready([hint for hint in due if self._is_trusted(hint, now)], now)
        due.sort(key=lambda hint: shard_of(hint.job_id))
        for shard, shown in groupby(due, key=lambda hint: shard_of(hint.job_id)):
            entries = self._with_room(list(shown), switches)
            # Without the lock they are claimed all the same: the index of whoever has it may not show them yet.
            is_locked = self._is_backlog(entries) and self.shared.take(shard)
            self._work_off(entries, switches, is_locked=is_locked, stop_at_lost_race=False)
        self._claims.handovers.send_gathered()
        self._after_page()

    def visit(self, lane: Lane, page: DuePage) -> None:
        """Handle what one page of a lane shows."""
        before, lane.cursor = lane.cursor, page.cursor
        lane.is_exhausted = page.cursor is None
        lane.pages += 1
        self.report.scanned += len(page.entries)
        fresh = self._fresh(page.entries)
        # Read after the page: a pause that ended before the page was written is not mistaken for one that goes on.
        if not fresh or (switches := self.read_switches()).halt is not None:
            return
        held_back_before, lost_before = self.report.held_back, self.report.lost_races
        fresh = self._with_room(fresh, switches)
        if not fresh and self._room is not None:
            self._room.pass_by(lane)
            return
        is_locked = False
        if self._is_backlog(page.entries):
            if not self._may_go_on_alone(lane):
                return
            is_large = page.cursor is not None and len(page.entries) >= self._settings.poll_limit
            if self._poller.call_helper is not None:
                self.shared.share_out(lane.shard, self._poller.call_helper, self._poller.pool, is_large=is_large)
            is_locked = True
        elif self.sharing is not None:
            is_locked = self.sharing.has(lane.shard)
        # Jobs first: what waited for a seat is a guest in this lane.
        fresh.sort(key=lambda entry: isinstance(entry, DueScope))
        entries, lane.is_contended = fresh[::-1] if lane.is_contended else fresh, False
        self._work_off(entries, switches, is_locked=is_locked)
        if self.report.lost_races > lost_before:
            # The winner is one step ahead on the same page: read it again and meet the winner from the other end.
            lane.cursor, lane.is_exhausted, lane.is_contended = before, False, True
            self._may_go_on_alone(lane)
        elif self.report.held_back > held_back_before:
            lane.cursor, lane.is_exhausted = before, False  # there may be room for the others by now
        if self._claims.handovers.gathering is not None:
            self._claims.handovers.send_gathered(is_last=lane.is_exhausted)
        self._after_page()

    def _fresh(self, shown: Sequence[DueEntry]) -> list[DueEntry]:
        """What was not handled yet, agrees with its key, and waits for nobody."""
        now = self._services.clock.now()
        self.registry = self._services.deployment.registry()
        trusted = [
            entry
            for entry in shown
            if entry.due_key not in self.seen
            and not (isinstance(entry, DueScope) and self._is_awaited(entry, now))
            and self._is_trusted(entry, now)
        ]
        return self._ready(trusted, now)

    def _is_trusted(self, entry: DueEntry, now: datetime) -> bool:
        """What is not is reported once: by its own name, since an honest entry may have the same due key."""
        if isinstance(entry, DueJob) and self.registry.agrees(entry.job_id, entry.job_type):
            return True
        name = f"{entry.job_id if isinstance(entry, DueJob) else 'unreadable'} as {entry.due_key}"
        if name in self.seen:
            return False
        is_trusted = is_trusted_entry(entry, self._services)
        if not is_trusted:
            self.seen[name] = now
        return is_trusted

    def _ready[Entry: DueEntry](self, entries: list[Entry], now: datetime) -> list[Entry]:
        """Without jobs that wait for others to share an invocation with."""
        names = {entry.job_type for entry in entries if isinstance(entry, DueJob)}
        types = [self.registry.types[name] for name in names if name in self.registry.types]
        if all(each.batch is None for each in types):
            return entries
        from leasehold.features import ready_for_batches

        return ready_for_batches(entries, self.registry, self.report, now)

    def _with_room[Entry: DueEntry](self, entries: list[Entry], switches: Switches) -> list[Entry]:
        if self._room is None:
            return entries
        jobs = [entry for entry in entries if isinstance(entry, DueJob)]
        return self._room.admit(entries, [entry for entry in jobs if self._claims.is_plain(entry, switches)])

    def _is_awaited(self, entry: DueScope, now: datetime) -> bool:
        return is_asked_for(entry.due_key) and now - Due.parse(entry.due_key).at < self._settings.leaves_to_wakes

    def forget_old(self) -> None:
        now = self._services.clock.now()
        if any(now - at >= _FORGOTTEN_AFTER for at in self.seen.values()):
            self.seen = {key: at for key, at in self.seen.items() if now - at < _FORGOTTEN_AFTER}
            self.left_to_others.clear()

    def close(self) -> None:
        """The poll ends: what is under way is waited for, and what is ours is given up."""
        try:
            if self.visits is not None:
                self.visits.close()
        finally:
            try:
                handovers = self._claims.handovers
                if handovers.under_way or handovers.gathering is not None:
                    handovers.wait()
            finally:
                if self.sharing is not None:
                    self.sharing.give_up()

    # --- where several pollers are at it

    @property
    def shared(self) -> Sharing:
        if self.sharing is None:
            from leasehold.features import open_sharing

            self.sharing = open_sharing(self._services, self._poller.worker_id, self._part, self.registry.shards)
        return self.sharing

    def _is_backlog(self, entries: Sequence[DueEntry]) -> bool:
        return len(entries) >= min(_BACKLOG, self._settings.poll_limit)

    def _may_go_on_alone(self, lane: Lane) -> bool:
        """Whether the shard's lock is ours; else its lane is left to whoever has it."""
        if self.shared.take(lane.shard):
            return True
        lane.is_exhausted = True
        self.left_to_others.add(lane.name)
        return False

    # --- its entries

    def _work_off(
        self, entries: Sequence[DueEntry], switches: Switches, *, is_locked: bool, stop_at_lost_race: bool = True
    ) -> None:
        """Handle these; whoever has the lock is alone here, and claims as many as may be at once together."""
        stride = _AT_ONCE if is_locked else 1
        lost_before = self.report.lost_races
        for begin in range(0, len(entries), stride):
            has_lost = stop_at_lost_race and self.report.lost_races > lost_before
            if has_lost or not self._may_go_on():
                return
            self._take_stride(entries[begin : begin + stride], switches, stop_at_lost_race=stop_at_lost_race)

    def _take_stride(self, entries: Sequence[DueEntry], switches: Switches, *, stop_at_lost_race: bool) -> None:
        lost_before = self.report.lost_races
        if len(entries) > 1:
            # What owes something first is not to be claimed yet.
            jobs = [entry for entry in entries if isinstance(entry, DueJob) and entry.due.afterwards is None]
            take_ahead(self._claims, jobs, switches)
        for position, entry in enumerate(entries):
            has_lost = stop_at_lost_race and self.report.lost_races > lost_before
            # What nobody decided yet will be read again.
            if has_lost and not (isinstance(entry, DueJob) and entry.due_key in self._claims.taken):
                continue
            if position and not self._may_go_on():
                break
            self.seen[entry.due_key] = self._services.clock.now()
            self.handle(entry, switches)
        if len(entries) > 1:
            end_page(self._claims)

    # --- one entry

    def handle(self, entry: DueEntry | FreedScope, switches: Switches, *, is_left: bool = False) -> bool:
        """False if it failed. `is_left`: a freed seat is not looked for now; nothing but its scope would tell of it."""
        try:
            match entry:
                case DueJob():
                    self._handle_job(entry, switches)
                case DueScope():
                    self._open_visits().begin(entry, switches)
                case FreedScope() if is_left:
                    self._open_visits().look_later(entry.scope)
                case FreedScope():
                    self._open_visits().look_now(entry.scope, switches)
                case DueSchedule() | DueGroup():
                    self._tend(entry)
                case DueUnreadable():
                    raise StoreError(f"this due entry cannot be read: {entry.problem}")
                case _:
                    assert_never(entry)
        except StoreUnavailableError:
            raise
        except Exception as error:
            self.report.failed += 1
            code = error.code if isinstance(error, LeaseholdError) else type(error).__name__
            named = entry.scope if isinstance(entry, FreedScope) else entry.due_key
            self._services.telemetry.event(Event.ENTRY_FAILED, entry=named, error_code=code, error=str(error))
            return False
        return True

    def _handle_job(self, entry: DueJob, switches: Switches) -> None:
        match entry.status:
            case JobStatus.PENDING | JobStatus.FAILED if entry.due.afterwards is None:
                self._claims.offer(entry, switches)
            case JobStatus.IN_PROGRESS:
                from leasehold.kernel.reap import reap

                self.report.reaped += reap(entry, self._services)
            case (
                JobStatus.PENDING | JobStatus.FAILED | JobStatus.COMPLETED | JobStatus.CANCELLED | JobStatus.DEAD_LETTER
            ):
                from leasehold.kernel.settle import settle

                self.report.settled += settle(entry, self._services)
            case _:
                assert_never(entry.status)

    def _tend(self, entry: DueSchedule | DueGroup) -> None:
        from leasehold.features import due_kind

        tend, counted = due_kind(entry)
        done = tend(entry, self._services, worker_id=self._poller.worker_id, may_go_on=self._may_go_on)
        setattr(self.report, counted, getattr(self.report, counted) + done)

    def _after_page(self) -> None:
        if self._claims.opened_gate is not None:
            self._claims.opened_gate.after_page()
        if self.visits is not None:
            self.visits.after_page()

    def _open_visits(self) -> Visits:
        if self.visits is None:
            self.visits = self._claims.gate.visits(
                self._claims,
                page_limit=self._settings.poll_limit,
                lower_share=self._settings.lower_share,
                may_go_on=self._may_go_on,
            )
        return self.visits

    def _may_go_on(self) -> bool:
        if self._should_stop is not None and (reason := self._should_stop()) is not None:
            self.report.stopped_by = reason
        return self.report.stopped_by == NOTHING_DUE

    def read_switches(self) -> Switches:
        """What is switched off now; a halt stops the poll."""
        switches = self._services.deployment.switches(fresh=True)
        if switches.halt is not None:
            self.report.stopped_by = HALT
            self._services.telemetry.event(
                Event.POLL_PAUSED,
                message="job worker paused due to system halt",
                by=switches.halt.by,
                reason=switches.halt.reason,
            )
        return switches
