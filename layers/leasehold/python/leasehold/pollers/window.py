"""The window: how many jobs may be handed over and not have started yet, of each type and of all.

Lambda takes any number of asynchronous invokes and starts what it has room for; the others wait in its queue while
their leases run out. So a poller looks whether what it handed over has started before it hands over more. Nothing is
written for that: it remembers its own hand-overs, and reads their jobs once a window of them is under way.

A window doubles when as many as it holds have started in time, one after the other; it halves when one was lost:
reaped unstarted, refused by Lambda, or older than Lambda keeps it. A type whose jobs do not start takes no other
type's places: each has a few of its own beside the common window, and that one halves only when several types lose.
A container keeps it as long as it lives.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.jobs import DueJob
from leasehold.kernel.type_options import CLOCK_TOLERANCE
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.kernel.jobs import DueEntry
    from leasehold.kernel.keys import JobId
    from leasehold.kernel.lanes import Lane
    from leasehold.kernel.poll import Poll
    from leasehold.kernel.ports import Handover
    from leasehold.kernel.registry import Switches
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Record

_FIRST, _LEAST, _MOST = 16, 4, 1024
# Ten times what an invoke takes. Whatever takes longer waits for a place, or is a cold start: neither calls for more.
_IN_TIME = timedelta(milliseconds=200)
_LOOK_EVERY = timedelta(milliseconds=200)
# While hand-overs start one after the other it pays to wait for the next, and to look more often.
_MOVING_FOR, _LOOK_SOON = timedelta(milliseconds=250), timedelta(milliseconds=40)
_OF_ALL = ""
# Where there is no room for more hand-overs: how soon to look again, and how far to read for jobs of other types.
_LOOK_FOR_ROOM_AFTER = timedelta(milliseconds=500)
_PAGES_IN_VAIN = 20


@dataclass(slots=True)
class _Size:
    """How many may be under way, and how many have started in time since it last changed."""

    size: int = _FIRST
    in_time: int = 0

    def note_started(self, *, in_time: bool) -> None:
        self.in_time = self.in_time + 1 if in_time else 0
        if self.in_time >= self.size:
            self.size, self.in_time = min(2 * self.size, _MOST), 0

    def note_lost(self) -> None:
        self.size, self.in_time = max(self.size // 2, _LEAST), 0


@dataclass(frozen=True, slots=True)
class _UnderWay:
    handover: Handover
    at: datetime


class Window:
    """in_time: what starts so soon after its hand-over lets the window grow."""

    def __init__(self, in_time: timedelta = _IN_TIME) -> None:
        self._in_time = in_time
        self._sizes: dict[str, _Size] = {_OF_ALL: _Size()}
        self._under_way: dict[JobId, _UnderWay] = {}
        self._looked_at: datetime | None = None
        # When one was last seen to start in time, or the first was handed over.
        self._moved_at: datetime | None = None
        self._last_to_lose: str | None = None
        # Where a poll gave up a lane that showed only what has to wait: the next one goes on there.
        self._given_up_at: dict[str, Record] = {}

    def admit[Entry: DueEntry](self, entries: list[Entry], switches: Switches, poll: Poll) -> list[Entry]:
        """Without those of the plain jobs that there is no room for: they stay due, and are looked at again soon.

        It waits itself while hand-overs start one after the other: whoever reads on meanwhile finds no room either.
        """
        plain = [entry for entry in entries if isinstance(entry, DueJob) and poll.claims.is_plain(entry, switches)]
        left = self._left(plain)
        while left and self._look(poll):
            left = self._left(plain)
        if left:
            poll.report.held_back += len(left)
            poll.report.note_due(poll.services.clock.now() + _LOOK_FOR_ROOM_AFTER)
        return [entry for entry in entries if entry.due_key not in left]

    def admit_page(
        self, entries: list[DueEntry], lane: Lane, page_at: Record | None, switches: Switches, poll: Poll
    ) -> list[DueEntry]:
        """The same for a page of a lane, which is read again if it has more: there may be room for that by then."""
        admitted = self.admit(entries, switches, poll)
        if not admitted:
            self._pass_by(lane)
        elif len(admitted) < len(entries):
            lane.cursor, lane.is_exhausted = page_at, False
        return admitted

    def _left(self, plain: Sequence[DueJob]) -> set[str]:
        """Due keys of those that there is no room for, in order."""
        under_way = Counter(each.handover.job_type for each in self._under_way.values())
        left: set[str] = set()
        for entry in plain:
            count = under_way[entry.job_type]
            has_place = count < _LEAST or under_way.total() < self._size(_OF_ALL).size
            if count < self._size(entry.job_type).size and has_place:
                under_way[entry.job_type] += 1
            else:
                left.add(entry.due_key)
        return left

    def _pass_by(self, lane: Lane) -> None:
        """A page of jobs that have to wait: what is behind them does not. A lane full of them is read a part a poll."""
        given_up_at = self._given_up_at.pop(lane.name, None)
        lane.in_vain += 1
        if lane.is_exhausted:
            return
        if lane.in_vain >= _PAGES_IN_VAIN:
            lane.is_exhausted = True
            if lane.cursor is not None:
                self._given_up_at[lane.name] = lane.cursor
        elif given_up_at is not None:
            lane.cursor = given_up_at

    def note_handed_over(self, handover: Handover, now: datetime) -> None:
        if not self._under_way:
            self._moved_at = now
        self._under_way[handover.job_id] = _UnderWay(handover, now)

    def note_refused(self, handover: Handover, *, throttled: bool) -> None:
        """It reached no handler: it is not under way."""
        self._under_way.pop(handover.job_id, None)
        if throttled:
            self._lose(handover.job_type)
            self._size(_OF_ALL).note_lost()

    def _size(self, name: str) -> _Size:
        return self._sizes.setdefault(name, _Size())

    def _look(self, poll: Poll) -> bool:
        """See which of those under way have started; True where it may be worth to look once more."""
        services = poll.services
        now = services.clock.now()
        if not self._under_way:
            return False
        is_moving = self._moved_at is not None and now - self._moved_at < _MOVING_FOR and poll.may_go_on()
        since = now - self._looked_at if self._looked_at is not None else timedelta.max
        if is_moving and since < _LOOK_SOON:
            services.clock.sleep(_LOOK_SOON - since)
            now = services.clock.now()
        elif not is_moving and since < _LOOK_EVERY:
            return False
        self._looked_at = now
        jobs = services.store.jobs.get_many(list(self._under_way))
        for job_id, each in list(self._under_way.items()):
            job = jobs.get(job_id)
            is_unstarted = job is not None and job.locked_by == each.handover.token
            if is_unstarted and now < _may_start_until(each, services):
                continue  # not yet
            del self._under_way[job_id]
            # Or it was put back: it waits again, and no run of it has ended since.
            if is_unstarted or (job is not None and job.status.is_waiting and job.dispatches > 0):
                self._lose(each.handover.job_type)
            else:
                started_at = job.started_at if job is not None else None
                in_time = (started_at or now) - each.at <= self._in_time
                self._start(each.handover.job_type, in_time=in_time)
                self._moved_at = now if in_time else self._moved_at
        return is_moving

    def _start(self, job_type: str, *, in_time: bool) -> None:
        self._size(job_type).note_started(in_time=in_time)
        if in_time:  # a slow type keeps nobody else small
            self._size(_OF_ALL).note_started(in_time=True)

    def _lose(self, job_type: str) -> None:
        self._size(job_type).note_lost()
        if self._last_to_lose not in {None, job_type}:
            self._size(_OF_ALL).note_lost()
        self._last_to_lose = job_type


def _may_start_until(each: _UnderWay, services: Services) -> datetime:
    """Lambda drops what waited too long, and nobody starts a job whose lease is over. Whoever reaps it may be far off:
    a lease's end sorts behind all that was due before it."""
    job_type = services.deployment.registry().types.get(each.handover.job_type)
    if job_type is None:
        return each.handover.lease.at
    return min(each.handover.lease.at, each.at + job_type.max_event_age + CLOCK_TOLERANCE)
