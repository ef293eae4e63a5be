"""Sweep a group that stops: end the members that wait, and count them in the same transactions.

From the last to the first, because the first are the next that a poll would let run. `swept` is how far it has come, so
that whoever goes on, after a crash or in the next poll, goes on there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.engine.count_ends import Step, commit, finish
from leasehold.engine.end_member import after_end, ask_to_stop, end_alone, ended, may_be_asked_to_stop, may_be_ended
from leasehold.engine.ports import make_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.domain.group import Group
    from leasehold.domain.job import Job
    from leasehold.engine.end_member import EndedMember
    from leasehold.engine.parts import Parts

# Members that one transaction ends, and their bytes: what it touches is 4 MB at most.
_PAGE = 50
_BYTES = 2 * 1024 * 1024
# Pages after which others in the queue get their turn.
_PAGES_A_VISIT = 40


def sweep(group: Group, parts: Parts, *, worker_id: str, may_go_on: Callable[[], bool]) -> int:
    """End what waits, for the length of one visit; how many members that has ended."""
    visit = _Visit(group, parts, worker_id)
    for _ in range(_PAGES_A_VISIT):
        if not may_go_on() or not visit.sweep_page():
            return visit.ended
    visit.come_back()
    return visit.ended


class _Visit:
    def __init__(self, group: Group, parts: Parts, worker_id: str) -> None:
        self.ended = 0
        self._group = group
        # Where this visit is; pages without anything to do are passed without a write.
        self._at = group.swept or 0
        self._parts = parts
        self._worker_id = worker_id

    def come_back(self) -> None:
        now = self._parts.clock.now()
        moved = replace(self._group, swept=self._at)
        self._parts.store.groups.change(self._group, moved.due_at(now, now, make_stamp(self._parts.chance)))

    def sweep_page(self) -> bool:
        """End some members; False if that was all, or if somebody else has the group by now."""
        page, start = self._page()
        ends = [self._end(job) for job in page if may_be_ended(job, self._group)]
        running = [job for job in page if may_be_asked_to_stop(job, self._group)]
        if not all(end_alone(each, self._parts) for each in ends if not each.is_counted):
            return self._look_again()
        if ends and running:
            # Whoever stops may make room for one that waits: those that wait are ended first, and this page seen again.
            start = self._at
        elif not all(ask_to_stop(job, self._group, self._parts) for job in running):
            return self._look_again()
        counted = [each for each in ends if each.is_counted]
        if not counted and start > self._group.lowest_waiting:
            self._at = start
            return True
        return self._write(start, counted)

    def _page(self) -> tuple[list[Job], int]:
        """The members below where this visit is, the last first, as many as fit into a transaction; and the lowest."""
        numbers = range(self._at - 1, max(self._group.lowest_waiting, self._at - _PAGE) - 1, -1)
        found = self._parts.store.jobs.get_many([self._group.member_id(number) for number in numbers])
        page: list[Job] = []
        size = 0
        for number in numbers:
            job = found.get(self._group.member_id(number))
            if job is None:
                continue  # it ended so long ago that it has expired
            size += job.payload_bytes
            if page and size > _BYTES:
                return page, number + 1
            page.append(job)
        return page, numbers.stop + 1

    def _write(self, start: int, ends: Sequence[EndedMember]) -> bool:
        counted = replace(self._group, swept=start, wake=False).counting(Counter(each.end for each in ends))
        step = self._after(counted)
        changes = (*(change for each in ends for change in each.ending.changes), *step.changes)
        if not commit(self._group, Step(step.group, changes), self._parts):
            return self._look_again()
        for each in ends:
            after_end(each, self._parts)
        self.ended += len(ends)
        self._group, self._at = step.group, start
        return self._group.due_key is not None

    def _after(self, counted: Group) -> Step:
        if counted.left == 0:
            return finish(counted, self._parts)
        return Step(counted.left_alone() if counted.swept == counted.lowest_waiting else counted)

    def _look_again(self) -> bool:
        """A member or the group changed since it was read: true if the group is still to be swept."""
        found = self._parts.store.groups.get(self._group.group_id)
        if found is None or found.due_key != self._group.due_key:
            return False
        self._group, self._at = found, min(self._at, found.swept or 0)
        return True

    def _end(self, job: Job) -> EndedMember:
        return ended(job, self._group, self._parts, self._worker_id)
