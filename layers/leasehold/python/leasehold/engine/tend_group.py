"""Tend a group: end the members that wait when it stops, and give up a creation that broke off.

Only a group that needs it has a due entry. The members of a stopping group are ended and counted some at a time, from
the last to the first, because the first are the next that a poll would let run.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from leasehold.domain.errors import JobNotFoundError, WrongStateError
from leasehold.domain.group import Group, GroupState
from leasehold.engine import operate
from leasehold.engine.cancel_group import broken_off, commit
from leasehold.engine.count_ends import Step, finish, tell_change
from leasehold.engine.create_group import ABANDON_AFTER
from leasehold.engine.end_member import EndedMember, end_alone, ended, owes_nothing_else, reason_of, tell_ended
from leasehold.engine.ports import make_stamp
from leasehold.store.groups import GroupChanged
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts
    from leasehold.store.jobs import DueGroup

# Members that one transaction ends, and transactions after which others in the queue get their turn.
_PAGE = 25
_PAGES_A_VISIT = 40


def tend(entry: DueGroup, parts: Parts, *, worker_id: str, may_go_on: Callable[[], bool]) -> int:
    """Do what is to be done for a group that is due; how many members that has ended."""
    group = parts.store.groups.get(entry.group_id)
    if group is None or group.due_key != entry.due_key:
        return 0
    match group.state:
        case GroupState.CREATING:
            _give_up(group, parts)
            return 0
        case GroupState.STOPPING | GroupState.CANCELLING:
            return _Sweep(group, parts, worker_id).go(may_go_on)
        case GroupState.RUNNING | GroupState.COMPLETED | GroupState.FAILED | GroupState.CANCELLED:
            parts.store.groups.change(group, group.left_alone())
            return 0
        case _:
            assert_never(group.state)


def _give_up(group: Group, parts: Parts) -> None:
    now = parts.clock.now()
    until = group.made_at + ABANDON_AFTER
    if until > now:
        # It is slow, but it goes on.
        parts.store.groups.change(group, group.due_at(until, now, make_stamp(parts.chance)))
        return
    minutes = ABANDON_AFTER.total_seconds() / 60
    commit(group, broken_off(group, f"its creation broke off {minutes:g} minutes ago", parts), parts)


class _Sweep:
    """One visit to a group that stops."""

    def __init__(self, group: Group, parts: Parts, worker_id: str) -> None:
        self._group = group
        self._parts = parts
        self._worker_id = worker_id
        self._ended = 0

    def go(self, may_go_on: Callable[[], bool]) -> int:
        for _ in range(_PAGES_A_VISIT):
            if not may_go_on():
                return self._ended
            if not self._sweep_page() or self._group.due_key is None:
                return self._ended
        now = self._parts.clock.now()
        self._parts.store.groups.change(self._group, self._group.due_at(now, now, make_stamp(self._parts.chance)))
        return self._ended

    def _sweep_page(self) -> bool:
        """End some members that wait; False if somebody else has the group by now."""
        group = self._group
        assert group.swept is not None
        start = max(0, group.swept - _PAGE)
        members = self._parts.store.jobs.get_many([group.member_id(number) for number in range(start, group.swept)])
        if group.state is GroupState.CANCELLING:
            self._ask_to_stop([job for job in members.values() if not job.status.is_waiting and not job.has_ended])
        waiting = [job for job in members.values() if job.status.is_waiting]
        ends = [ended(job, group, self._parts, self._worker_id) for job in waiting if owes_nothing_else(job, group)]
        for job in waiting:
            if not owes_nothing_else(job, group) and not end_alone(job, group, self._parts, self._worker_id):
                return self._look_again()
        step = self._counted(replace(group, swept=start, wake=False), ends)
        token = request_token("sweep", group.group_id, group.stamp, make_stamp(self._parts.chance))
        try:
            changes = [*(each.change for each in ends), *step.changes]
            self._parts.store.groups.change_with(group, step.group, changes, token=token)
        except GroupChanged:
            return self._look_again()
        self._ended += len(ends)
        for each in ends:
            tell_ended(each, self._parts)
        tell_change(group, step.group, self._parts)
        self._group = step.group
        return True

    def _counted(self, group: Group, ends: Sequence[EndedMember]) -> Step:
        counted = group.counting(Counter(each.end for each in ends))
        if counted.left == 0:
            return finish(counted, self._parts)
        return Step(counted.left_alone() if counted.swept == 0 else counted)

    def _look_again(self) -> bool:
        """A member or the group changed since it was read: true if the group is still to be swept."""
        found = self._parts.store.groups.get(self._group.group_id)
        if found is None or found.due_key != self._group.due_key:
            return False
        self._group = found
        return True

    def _ask_to_stop(self, running: Sequence[Job]) -> None:
        for job in running:
            # It may have ended meanwhile, which is as good.
            with suppress(WrongStateError, JobNotFoundError):
                operate.cancel(job.job_id, reason_of(self._group), self._parts)
