"""Admit: let held jobs run when their scope may again, in order, straight from the lanes where they wait."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.domain.due import Priority
from leasehold.domain.limits import type_of_scope
from leasehold.engine.hold import LOOK_AGAIN_AFTER, Stop, stop_of
from leasehold.engine.ports import make_stamp
from leasehold.engine.trust import trusted_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from leasehold.domain.control import Switches
    from leasehold.domain.limits import Limit
    from leasehold.engine.offer import Offers
    from leasehold.engine.parts import Parts
    from leasehold.engine.report import PollReport
    from leasehold.store.holds import ScopeState
    from leasehold.store.jobs import DueJob, DueScope
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
        self._admitted: set[tuple[str, str]] = set()

    def admit(self, entry: DueScope, switches: Switches) -> None:
        """Claim straight from the hold lanes of a scope as many as may run; then say when to look again."""
        state = self._parts.store.holds.state(entry.scope)
        if state.due_key != entry.due_key:
            return  # somebody touched it since the index saw it: its new entry will be seen
        name = type_of_scope(entry.scope)
        stop = None if name is None else stop_of(name, switches, self._parts)
        if name is not None and stop is not None and self._offers.probes.due(name, stop) is None:
            self._wait_for(stop, state)
            return
        self._offers.seating.remember(state)
        if name is not None and stop is not None:
            self._send_probe(name, stop, state, switches)
            return
        found, full = self._admit_held(state, switches)
        if not found:
            self._doubt_empty_lane(state)
        elif full is None:
            self._look_again(state, LOOK_SHORTLY_AFTER)
        else:
            self._look_again_at(state, self._offers.seating.plan(full).next_free_at)

    def _send_probe(self, job_type: str, stop: Stop, state: ScopeState, switches: Switches) -> None:
        """Offer held jobs until one of them is let through an open circuit; the others go on waiting."""
        found = False
        for held in self._held(state):
            found = True
            if self._offers.probes.due(job_type, stop) is None or not self._may_go_on():
                break
            if self._offers.offer(held, switches, coming_from=state.scope) is not None:
                break
        if not found:
            self._doubt_empty_lane(state)
        elif stop.circuit is not None:
            # The next probe comes no sooner than that, whatever this one says.
            self._look_again_at(state, self._parts.clock.now() + stop.circuit.wait)

    def _wait_for(self, stop: Stop, state: ScopeState) -> None:
        if stop.until is None:
            self._parts.store.holds.park(state.scope, state.due_key or "")
        else:
            self._look_again_at(state, stop.until)

    def _look_again_at(self, state: ScopeState, at: datetime | None) -> None:
        """Then, but soon in any case: what frees a seat may have crashed before it told us."""
        now = self._parts.clock.now()
        wait = LOOK_AGAIN_AFTER if at is None else min(at - now, LOOK_AGAIN_AFTER)
        self._look_again(state, max(wait, timedelta(milliseconds=1)))

    def _look_again(self, state: ScopeState, after: timedelta, *, empty_checks: int = 0) -> None:
        now = self._parts.clock.now()
        stamp = make_stamp(self._parts.chance)
        self._parts.store.holds.postpone(state, now + after, now, stamp=stamp, empty_checks=empty_checks)

    def _admit_held(self, state: ScopeState, switches: Switches) -> tuple[bool, Limit | None]:
        """Whether anything was held, and the scope's own limit if that is what ended it."""
        found, scope = False, state.scope
        for held in self._held(state):
            found = True
            if not self._may_go_on():
                break
            if (scope, held.due_key) in self._admitted:
                continue  # it has left this lane, and the index has not noticed yet
            full = self._offers.offer(held, switches, coming_from=scope)
            if full is not None:
                return True, full
            self._admitted.add((scope, held.due_key))
            self._report.scanned += 1
        return found, None

    def _held(self, state: ScopeState) -> Iterator[DueJob]:
        """The jobs of a scope, the highest priority first; at a stated share of looks the lowest: none starves."""
        is_turn_of_the_lowest = self._lower_share > 0 and (state.looks + 1) % round(1 / self._lower_share) == 0
        for priority in sorted(Priority, reverse=not is_turn_of_the_lowest):
            cursor: Record | None = None
            while True:
                page = self._parts.store.jobs.held(state.scope, priority, limit=self._page_limit, after=cursor)
                yield from trusted_jobs(page.entries, self._parts)
                cursor = page.cursor
                if cursor is None:
                    break
                if self._is_halted() or self._is_reserved(state.scope):
                    return

    def _is_reserved(self, scope: str) -> bool:
        """Since this began: a direct run does not wait for all that are held here."""
        name, now = type_of_scope(scope), self._parts.clock.now()
        return name is not None and self._parts.deployment.switches().reserved_until(name, now) is not None

    def _doubt_empty_lane(self, state: ScopeState) -> None:
        checks = state.empty_checks
        if checks >= len(EMPTY_LANE_CHECKS):
            self._parts.store.holds.forget(state.scope, state.due_key or "")
        else:
            self._look_again(state, EMPTY_LANE_CHECKS[checks], empty_checks=checks + 1)
