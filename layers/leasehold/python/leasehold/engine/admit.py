"""Admit: let held jobs run when their scope may again, in order, straight from the lanes where they wait."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.due import Priority
from leasehold.domain.limits import type_of_scope
from leasehold.engine.hold import LOOK_AGAIN_AFTER, stop_of
from leasehold.engine.ports import make_stamp
from leasehold.store.jobs import DueJob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from leasehold.domain.control import Switches
    from leasehold.domain.limits import Limit
    from leasehold.engine.offer import Offers
    from leasehold.engine.parts import Parts
    from leasehold.engine.report import PollReport
    from leasehold.store.jobs import DueScope
    from leasehold.store.table import Record

# After held jobs were admitted, their lane is looked at once more before it is called empty.
LOOK_SHORTLY_AFTER = timedelta(seconds=1)
# The hold lane is read from an index, which may lag: a lane that looks empty is looked at again before it is believed.
EMPTY_LANE_CHECKS = (timedelta(minutes=1), timedelta(hours=1))


class Admissions:
    """What one poll admits."""

    def __init__(
        self,
        parts: Parts,
        offers: Offers,
        report: PollReport,
        *,
        page_limit: int,
        lower_share: float,
        may_go_on: Callable[[], bool],
        is_halted: Callable[[], bool],
    ) -> None:
        self._parts = parts
        self._offers = offers
        self._report = report
        self._page_limit = page_limit
        self._lower_share = lower_share
        self._may_go_on = may_go_on
        self._is_halted = is_halted
        self._admitted: set[str] = set()

    def admit(self, entry: DueScope, switches: Switches) -> None:
        """Claim straight from the hold lanes of a scope as many as may run; then say when to look again."""
        scope, holds = entry.scope, self._parts.store.holds
        state = holds.state(scope)
        if state.due_key != entry.due_key:
            return  # somebody touched it since the index saw it: its new entry will be seen
        name = type_of_scope(scope)
        stop = None if name is None else stop_of(name, switches, self._parts)
        now = self._parts.clock.now()
        if stop is not None:
            if stop.until is None:
                holds.park(scope, entry.due_key)
            else:
                holds.postpone(scope, entry.due_key, min(stop.until, now + LOOK_AGAIN_AFTER), now, stamp=self._stamp())
            return
        self._offers.seating.remember(state)
        found, full = self._admit_held(scope, switches)
        now = self._parts.clock.now()
        if not found:
            self._doubt_empty_lane(entry, state.empty_checks, now)
        elif full is None:
            holds.postpone(scope, entry.due_key, now + LOOK_SHORTLY_AFTER, now, stamp=self._stamp())
        else:
            next_free_at = self._offers.seating.plan(full).next_free_at or now + LOOK_AGAIN_AFTER
            soonest = max(min(next_free_at, now + LOOK_AGAIN_AFTER), now + timedelta(milliseconds=1))
            holds.postpone(scope, entry.due_key, soonest, now, stamp=self._stamp())

    def _admit_held(self, scope: str, switches: Switches) -> tuple[bool, Limit | None]:
        """Whether anything was held, and the scope's own limit if that is what ended it."""
        found = False
        for held in self._held(scope):
            found = True
            if not self._may_go_on():
                break
            if held.due_key in self._admitted:
                continue  # the index has not noticed yet
            full = self._offers.offer(held, switches, coming_from=scope)
            if full is not None:
                return True, full
            self._admitted.add(held.due_key)
            self._report.scanned += 1
        return found, None

    def _held(self, scope: str) -> Iterator[DueJob]:
        """The jobs of a scope, the highest priority first; a stated share of times the lowest, so that none starves."""
        lowest_first = self._parts.chance.share() < self._lower_share
        for priority in sorted(Priority, reverse=not lowest_first):
            cursor: Record | None = None
            while True:
                page = self._parts.store.jobs.held(scope, priority, limit=self._page_limit, after=cursor)
                yield from (each for each in page.entries if isinstance(each, DueJob))
                cursor = page.cursor
                if cursor is None:
                    break
                if self._is_halted():
                    return

    def _doubt_empty_lane(self, entry: DueScope, checks: int, now: datetime) -> None:
        if checks >= len(EMPTY_LANE_CHECKS):
            self._parts.store.holds.forget(entry.scope, entry.due_key)
        else:
            at = now + EMPTY_LANE_CHECKS[checks]
            self._parts.store.holds.postpone(
                entry.scope, entry.due_key, at, now, stamp=self._stamp(), empty_checks=checks + 1
            )

    def _stamp(self) -> str:
        return make_stamp(self._parts.chance)
