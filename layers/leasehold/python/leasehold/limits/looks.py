"""Looks: when a scope is looked at, and who looks.

A look is taken by a conditional write, so others leave the scope alone meanwhile; if this poll dies, it comes again.
The next is put off as it was seen, so that whoever asked for one since is not overlooked.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, cast

from leasehold.kernel.keys import Due
from leasehold.limits.admission import FIRST_LOOK_AFTER, LAST_LOOK_AFTER, together
from leasehold.limits.lanes import creation_of, is_asked_for
from leasehold.limits.lines import EMPTY_FOR
from leasehold.limits.scopes import Scope
from leasehold.limits.turns import LINE_READ, LOOK_SHORTLY_AFTER, Visit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from leasehold.kernel.jobs import DueJob
    from leasehold.kernel.other_entries import DueScope
    from leasehold.kernel.poll import Poll
    from leasehold.limits.admission import Admission, Stop
    from leasehold.limits.scopes import Lane, LineEntry, Turn

A_PAGE = timedelta(milliseconds=500)
_A_LOOK = timedelta(milliseconds=80)
_RENEWED_BEFORE = timedelta(seconds=20)
# For so long an index may show a job that has left its lane, at the worst.
_INDEX_LAGS = timedelta(seconds=30)


class Looks:
    """The looks of one poll, and what its visits share: how they read, and what was taken out of its lane."""

    def __init__(self, poll: Poll, admission: Admission) -> None:
        self.services = poll.services
        self.admission = admission
        self.report = poll.report
        self.page_limit = poll.settings.poll_limit
        self.lower_share = poll.settings.lower_share
        # Until no index shows it there any longer.
        self.gone: dict[str, datetime] = {}
        self._lines = poll.services.store.lines
        self._in_vain: list[tuple[str, str, datetime]] = []

    def note_gone(self, job: DueJob) -> None:
        self.gone[job.due_key] = self.services.clock.now()

    def forget_old(self) -> None:
        now = self.services.clock.now()
        self.gone = {key: at for key, at in self.gone.items() if timedelta(0) <= now - at < _INDEX_LAGS}

    def take(self, entry: DueScope, *, may_be_full: bool) -> Visit | None:
        """Take the look that is due; None if there is nothing to be found, or somebody else looks."""
        now = self.services.clock.now()
        next_at = self._next_at(entry.due_key, now)
        if may_be_full and not is_asked_for(entry.due_key):
            scope, waiting, _ = self._lines.line(entry.scope, limit=LINE_READ)
            if self._is_full(scope, waiting, until=next_at):
                self._in_vain.append((entry.scope, entry.due_key, next_at))
                return None
        return self._take(entry.scope, entry.due_key, next_at)

    def take_now(self, seen: Scope) -> Visit | None:
        """Look whenever that is due; None if the scope changed since it was seen."""
        due_key, moment = cast("str", seen.due_key), self.admission.moment()
        next_at = Due.parse(due_key).at
        if next_at - moment.now < _RENEWED_BEFORE:
            return self._take(seen.name, due_key, self._next_at(due_key, moment.now))
        scope = self._lines.look_now(seen, moment)
        return None if scope is None else Visit(self, scope, moment.now, next_at)

    def _take(self, name: str, due_key: str, next_at: datetime) -> Visit | None:
        moment = self.admission.moment()
        scope = self._lines.take_look(name, due_key, next_at, moment)
        # Else somebody touched it since the index saw it: its new entry will be seen.
        return None if scope is None else Visit(self, scope, moment.now, next_at)

    def when_left_alone(self, name: str) -> Scope | None:
        """The scope once nobody else is at it; None where that leaves nothing to do.

        Who comes right behind another would meet it at the same jobs, and one of them would pay for nothing. So it
        waits while the other gives seats away, which mostly takes the one that this was to look for.
        """
        clock = self.services.clock
        first, until = None, clock.now() + A_PAGE
        while True:
            scope, entries, _ = self._lines.line(name, limit=LINE_READ)
            first = first or scope
            if not scope.is_looked_at or scope.look != first.look:
                return None
            if self._is_full(scope, entries, until=Due.parse(cast("str", scope.due_key)).at):
                return None
            now, steps = clock.now(), [turn.at for turn in scope.turns]
            since = now - max([*steps, creation_of(scope.look)] if scope.look else steps, default=now - _A_LOOK)
            if now >= until or not timedelta(0) <= since < _A_LOOK:
                return scope
            clock.sleep(_A_LOOK - since)

    def _is_full(self, scope: Scope, entries: Sequence[LineEntry], *, until: datetime) -> bool:
        """Whether nothing could go on before then; a lane that may be empty is for a look to find out."""
        plan = self.admission.remember_seats(scope, entries)
        if plan is None or any(entry.empty_since is not None for entry in entries):
            return False
        return plan.is_full and (plan.next_free_at is None or plan.next_free_at >= until)

    def put_off_in_vain(self) -> None:
        """Put the looks off that were in vain: many by one request. One that somebody asked for since stays due."""
        in_vain, self._in_vain = self._in_vain, []
        if in_vain:
            self._lines.put_off(in_vain, self.admission.moment())
            self.report.looked += len(in_vain)

    def renew(self, visit: Visit) -> bool:
        """Whether the look is still this visit's; False if somebody touched it, and will look."""
        now = self.services.clock.now()
        return visit.next_look_at - now >= _RENEWED_BEFORE or self.put_off(visit, now + FIRST_LOOK_AFTER)

    def put_off(self, visit: Visit, at: datetime, *, is_empty: bool = False, place: Turn | None = None) -> bool:
        """Look again then, unless somebody has touched the scope since."""
        scope = self._lines.look_at(visit.scope, at, self.admission.moment(), is_empty=is_empty, place=place)
        if scope is None:
            return False
        self.report.note_due(at)
        visit.scope, visit.next_look_at = scope, at
        return True

    def wait_for(self, stop: Stop, name: str, due_key: str) -> None:
        """Nobody who waits for this scope may run: look when that may be over, or when somebody wakes it."""
        scope, moment = Scope(name=name, exists=True, due_key=due_key), self.admission.moment()
        if stop.until is None:
            self._lines.park(scope)
        else:
            at = min(max(stop.until, moment.now), moment.now + LAST_LOOK_AFTER)
            self._lines.look_at(scope, at, moment)

    def note_empty(self, entry: LineEntry) -> None:
        """The index may lag: a lane leaves its line only when it was found empty twice, a while apart."""
        moment = self.admission.moment()
        self.admission.forget_line(entry.scope, entry.lane)
        if entry.empty_since is None:
            self._lines.note_empty(entry, moment)
        elif moment.now - entry.empty_since >= EMPTY_FOR:
            self._lines.leave(entry)

    def end_full(self, visit: Visit, lane: Lane) -> None:
        """By the next end of a seat somebody must look; an end that is reported makes it due at once."""
        limit = next(each for each in self.admission.limits_of_lane(lane) if each.scope == visit.scope.name)
        free_at = self.admission.seats.plan(limit).next_free_at
        if free_at is not None and free_at < visit.next_look_at:
            self.put_off(visit, max(free_at, self.services.clock.now()))
        visit.is_over = True

    def end_served(self, visit: Visit) -> None:
        """No lane can go on: they wait for something else now, or nobody waits any more."""
        now, scope = self.services.clock.now(), visit.scope
        left = self._lines.entries(scope.name, limit=LINE_READ)
        visit.is_over = True
        if visit.room_at is not None:
            if visit.room_at < visit.next_look_at:
                self.put_off(visit, max(visit.room_at, now))
        elif any(entry.empty_since is None for entry in left):
            return
        elif scope.empty_since is None:
            self.put_off(visit, now + (LOOK_SHORTLY_AFTER if left else EMPTY_FOR), is_empty=True)
            # A lane that joined since the line was read believes that it is waited for: so it must be. And at once:
            # whoever freed a seat while nobody seemed to wait has started no poller.
            joined = self._lines.entries(scope.name, limit=LINE_READ)
            if any(entry.empty_since is None for entry in joined):
                self.admission.expect_look(scope.name, now)
        elif left or now - scope.empty_since < EMPTY_FOR:
            self.put_off(visit, now + EMPTY_FOR)
        else:
            self._lines.forget(scope)

    def _next_at(self, due_key: str, now: datetime) -> datetime:
        """Twice as long as the last wait, if that was one; the more looks are in vain, the rarer they are."""
        due = Due.parse(due_key)
        waited = due.at - creation_of(due.position)
        wait = min(max(2 * waited, FIRST_LOOK_AFTER), LAST_LOOK_AFTER)
        wait *= 1 - self.services.random_source.share() / 8
        return together(now + wait)
