"""Pages: what becomes of the entries that a lane shows. A job is claimed, reaped or settled; a scope is visited.

Entries are decided one after the other, on the poll's own thread. What only some of them need is imported when one is
met: who decides about jobs that are not plain (limits/gate.py), room where hand-overs are bounded (pollers/window.py),
who works where if there is a backlog (pollers/sharing.py).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from leasehold import features
from leasehold.kernel.claim import Claims
from leasehold.kernel.errors import LeaseholdError, StoreError, StoreUnavailableError
from leasehold.kernel.jobs import DueJob
from leasehold.kernel.keys import Due
from leasehold.kernel.lanes import is_asked_for
from leasehold.kernel.other_entries import DueItem, DueScope, DueUnreadable, FreedScope
from leasehold.kernel.transitions import JobStatus
from leasehold.kernel.trust import is_trusted_entry
from leasehold.lean import dataclass
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from leasehold.kernel.jobs import DueEntry, DuePage
    from leasehold.kernel.poll import Poller, PollReport
    from leasehold.kernel.registry import Registry, Switches
    from leasehold.kernel.table import Record
    from leasehold.pollers.sharing import Part, Sharing

    type Hint = DueJob | DueScope | FreedScope

# From here on it pays to be alone: the lock costs two writes, and saves a call for every further job.
_BACKLOG = 8
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


class Poll:
    """One poll: what it has met, and what came of it."""

    def __init__(self, poller: Poller, report: PollReport, should_stop: Callable[[], str | None] | None) -> None:
        self.poller = poller
        self.services = poller.services
        self.report = report
        self.should_stop = should_stop
        self.registry: Registry
        self.claims = Claims(self)
        # Due keys that were handled, or could not be; forgotten after a while, so that a long poll tries again.
        self.seen: dict[str, datetime] = {}
        # Opened by the first backlog, or for a poller of a part.
        self.sharing: Sharing | None = None
        self.room = None if self.services.window is None else self.services.window.room(self)

    def open(self, part: Part | None) -> None:
        """Something may run: see what is deployed, and what this poll needs for it."""
        self.registry = self.services.deployment.registry()
        is_plain = self.poller.pool is None and self.services.window is None
        if not is_plain or any(each.batch for each in self.registry.types.values()):
            self.claims.hand_overs = features.SideBySide(self)
        if part is not None:
            self.share(part)

    # --- what it is shown

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
        if self.room is not None and not (fresh := self.room.admit(fresh, switches)):
            self.room.pass_by(lane)
            return
        if self.is_backlog(page.entries) and not self.share().begin(lane, page, self.poller):
            return
        # Jobs first: what waited for a seat is a guest in this lane.
        fresh.sort(key=lambda entry: isinstance(entry, DueScope))
        entries, lane.is_contended = fresh[::-1] if lane.is_contended else fresh, False
        self.work_off(entries, switches, is_locked=self.sharing is not None and self.sharing.has(lane.shard))
        if self.report.lost_races > lost_before:
            # The winner is one step ahead on the same page: read it again and meet the winner from the other end.
            lane.cursor, lane.is_exhausted, lane.is_contended = before, False, True
            self.share().may_go_on_alone(lane)
        elif self.report.held_back > held_back_before:
            lane.cursor, lane.is_exhausted = before, False  # there may be room for the others by now
        self.after_page(is_last=lane.is_exhausted)

    def _fresh(self, shown: Sequence[DueEntry]) -> list[DueEntry]:
        """What was not handled yet, agrees with its key, and waits for nobody."""
        now = self.services.clock.now()
        self.registry = self.services.deployment.registry()
        trusted = [
            entry
            for entry in shown
            if entry.due_key not in self.seen
            and not (isinstance(entry, DueScope) and self._is_awaited(entry, now))
            and self.is_trusted(entry, now)
        ]
        return self.gathered(trusted, now)

    def is_trusted(self, entry: DueEntry, now: datetime) -> bool:
        """What is not is reported once: by its own name, since an honest entry may have the same due key."""
        if isinstance(entry, DueJob) and self.registry.agrees(entry.job_id, entry.job_type):
            return True
        name = f"{entry.job_id if isinstance(entry, DueJob) else 'unreadable'} as {entry.due_key}"
        if name in self.seen:
            return False
        is_trusted = is_trusted_entry(entry, self.services)
        if not is_trusted:
            self.seen[name] = now
        return is_trusted

    def _is_awaited(self, entry: DueScope, now: datetime) -> bool:
        leaves_to_wakes = self.poller.settings.leaves_to_wakes
        return is_asked_for(entry.due_key) and now - Due.parse(entry.due_key).at < leaves_to_wakes

    def gathered[Entry: DueEntry](self, entries: list[Entry], now: datetime) -> list[Entry]:
        """Without jobs that wait for others to share an invocation with."""
        names = {entry.job_type for entry in entries if isinstance(entry, DueJob)}
        if not any(name in self.registry.types and self.registry.types[name].batch for name in names):
            return entries
        return features.ready_for_batches(entries, self.registry, self.report, now)

    def forget_old(self) -> None:
        now = self.services.clock.now()
        if any(now - at >= _FORGOTTEN_AFTER for at in self.seen.values()):
            self.seen = {key: at for key, at in self.seen.items() if now - at < _FORGOTTEN_AFTER}
            if self.sharing is not None:
                self.sharing.left_to_others.clear()

    # --- where several pollers are at it

    def is_backlog(self, entries: Sequence[DueEntry]) -> bool:
        return len(entries) >= min(_BACKLOG, self.poller.settings.poll_limit)

    def share(self, part: Part | None = None) -> Sharing:
        if self.sharing is None:
            self.sharing = features.Sharing(self.services, self.poller.worker_id, self.registry.shards, part)
        return self.sharing

    # --- its entries

    def work_off(
        self, entries: Sequence[DueEntry], switches: Switches, *, is_locked: bool, stop_at_lost_race: bool = True
    ) -> None:
        """Handle these; whoever has the lock is alone here, and claims as many as may be at once together."""
        if is_locked:
            self.claims.at_once.work_off(entries, switches, self.handle_once, stop_at_lost_race=stop_at_lost_race)
            return
        lost_before = self.report.lost_races
        for entry in entries:
            if (stop_at_lost_race and self.report.lost_races > lost_before) or not self.may_go_on():
                return
            self.handle_once(entry, switches)

    def handle_once(self, entry: DueEntry, switches: Switches) -> None:
        self.seen[entry.due_key] = self.services.clock.now()
        self.handle(entry, switches)

    def handle(self, entry: DueEntry | FreedScope, switches: Switches) -> bool:
        """False if it failed, which is reported: what is behind it does not wait for it."""
        try:
            match entry:
                case DueJob():
                    self._handle_job(entry, switches)
                case DueScope() | FreedScope():
                    self.claims.gate.visit(entry, switches)
                case DueItem():
                    self._tend(entry)
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

    def _handle_job(self, entry: DueJob, switches: Switches) -> None:
        match entry.status:
            case JobStatus.PENDING | JobStatus.FAILED if entry.due.afterwards is None:
                self.claims.offer(entry, switches)
            case JobStatus.IN_PROGRESS:
                from leasehold.kernel.reap import reap

                self.report.reaped += reap(entry, self.services)
            case (
                JobStatus.PENDING | JobStatus.FAILED | JobStatus.COMPLETED | JobStatus.CANCELLED | JobStatus.DEAD_LETTER
            ):
                self.report.settled += features.settle(entry, self.services)
            case _:
                assert_never(entry.status)

    def _tend(self, entry: DueItem) -> None:
        tend, counted = features.due_kind(entry)
        done = tend(entry, self.services, worker_id=self.poller.worker_id, may_go_on=self.may_go_on)
        setattr(self.report, counted, getattr(self.report, counted) + done)

    def note_failed(self, entry: str, error: Exception) -> None:
        self.report.failed += 1
        code = error.code if isinstance(error, LeaseholdError) else type(error).__name__
        self.services.telemetry.event(Event.ENTRY_FAILED, entry=entry, error_code=code, error=str(error))

    def after_page(self, *, is_last: bool) -> None:
        """`is_last`: its lane has no more."""
        self.claims.hand_overs.send_gathered(is_last=is_last)
        if self.claims.opened_gate is not None:
            self.claims.opened_gate.after_page()

    # --- whoever waited for a seat

    @property
    def has_guests(self) -> bool:
        return self.claims.opened_gate is not None and self.claims.opened_gate.is_open

    def serve_guests(self) -> bool:
        """One more page for each of them; True if any goes on."""
        return self.has_guests and self.read_switches().halt is None and self.claims.gate.go_on()

    # --- its end

    def may_go_on(self) -> bool:
        if self.should_stop is not None and (reason := self.should_stop()) is not None:
            self.report.stopped_by = reason
        return self.report.stopped_by == NOTHING_DUE

    def read_switches(self) -> Switches:
        """What is switched off now; a halt stops the poll."""
        switches = self.services.deployment.switches(fresh=True)
        if switches.halt is not None:
            self.report.stopped_by = HALT
            self.services.telemetry.event(
                Event.POLL_PAUSED,
                message="job worker paused due to system halt",
                by=switches.halt.by,
                reason=switches.halt.reason,
            )
        return switches

    def close(self) -> None:
        """What is under way is waited for, and what is ours is given up."""
        try:
            if self.claims.opened_gate is not None:
                self.claims.opened_gate.close()
        finally:
            try:
                self.claims.hand_overs.wait()
            finally:
                if self.sharing is not None:
                    self.sharing.give_up()
