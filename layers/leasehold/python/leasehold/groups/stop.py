"""Cancel a group: one write says so, and polls see to its members."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from leasehold.audit.records import audit_entry_by_actor, contended, recorded_reason, tries
from leasehold.groups.create import ABANDON_AFTER, first_that_fit
from leasehold.groups.ends import (
    Step,
    ask_to_stop,
    commit,
    due_after,
    ending_of,
    finish,
    log_change,
    may_be_asked_to_stop,
    may_be_ended,
    swept_from,
)
from leasehold.groups.model import Group, GroupEndedError, GroupNotFoundError, GroupState, MemberEnd, parse_group_id
from leasehold.groups.records import callback_used, change_of, codes_expire
from leasehold.kernel.keys import make_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.kernel.end import Ending
    from leasehold.kernel.job import Job
    from leasehold.kernel.other_entries import DueItem
    from leasehold.kernel.services import Services


def find_group(group_id: object, services: Services) -> Group:
    group = services.store.groups.get(parse_group_id(group_id))
    if group is None:
        raise GroupNotFoundError(str(group_id))
    return group


def cancel_group(group_id: object, reason: str, services: Services) -> Group:
    """Have the members that wait cancelled, and those that run asked to stop."""
    reason = recorded_reason(reason, services)
    for _ in tries(services):
        group = find_group(group_id, services)
        match group.state:
            case GroupState.CREATING:
                step = broken_off(group, reason, services)
            case GroupState.RUNNING | GroupState.STOPPING:
                step = Step(swept_from(group.total, group, GroupState.CANCELLING, reason, services))
            case GroupState.CANCELLING:
                return group
            case GroupState.COMPLETED | GroupState.FAILED | GroupState.CANCELLED:
                raise GroupEndedError(group.group_id, "cancel", group.state)
            case _:
                assert_never(group.state)
        target, changes = f"group#{group.group_id}", [change_of(group, step.group), *step.changes]
        entry = audit_entry_by_actor("group", target, "cancel", services, reason=reason, left=group.left)
        if services.store.audits.commit(changes, services.store.audits.audit(entry)):
            log_change(group, step.group, services)
            return step.group
    raise contended(f"group {group_id!r}")


def broken_off(group: Group, reason: str, services: Services) -> Step:
    """The end of a group that is still being made. What was never made counts as cancelled; nobody is called back."""
    unmade = {MemberEnd.CANCELLED: group.total - group.made}
    cancelling = swept_from(group.made, group, GroupState.CANCELLING, reason, services)
    given_up = replace(cancelling, abandoned=True, callback=None).counting(unmade)
    ended = given_up if given_up.left else given_up.finished(services.clock.now())
    uncalled = () if group.callback is None else (callback_used(group.group_id),)
    return Step(ended, (*uncalled, *codes_expire(ended)))


# Members that one transaction ends.
_PAGE = 50
# Pages after which others in the queue get their turn.
_PAGES_A_VISIT = 40


class _Visit:
    def __init__(self, group: Group, services: Services, worker_id: str) -> None:
        self._ended = 0
        self._group = group
        # Where this visit is; pages without anything to do are passed without a write.
        self._at = group.swept or 0
        self._services = services
        self._worker_id = worker_id

    def sweep(self, may_go_on: Callable[[], bool]) -> int:
        """End what waits, for the length of one visit; how many members that has ended."""
        for _ in range(_PAGES_A_VISIT):
            if not may_go_on() or not self._sweep_page():
                return self._ended
        moved = due_after(timedelta(0), replace(self._group, swept=self._at), self._services)
        self._services.store.groups.change(self._group, moved)
        return self._ended

    def _sweep_page(self) -> bool:
        """End some members; False if that was all, or if somebody else has the group by now."""
        page, start = self._page()
        group, services = self._group, self._services
        ends = [ending_of(job, group, services, self._worker_id) for job in page if may_be_ended(job, group)]
        running = [job for job in page if may_be_asked_to_stop(job, self._group)]
        if not all(each.conclude() for each in ends if not each.is_plain):
            return self._look_again()
        if ends and running:
            # Whoever stops may make room for one that waits: those that wait are ended first, and this page seen again.
            start = self._at
        elif not all(ask_to_stop(job, self._group, self._services) for job in running):
            return self._look_again()
        counted = [each for each in ends if each.is_plain]
        if not counted and start > self._group.lowest_waiting:
            self._at = start
            return True
        return self._write(start, counted)

    def _page(self) -> tuple[list[Job], int]:
        """The members below where this visit is, the last first, as many as fit into a transaction; and the lowest."""
        numbers = range(self._at - 1, max(self._group.lowest_waiting, self._at - _PAGE) - 1, -1)
        ids = {number: self._group.member_id(number) for number in numbers}
        found = self._services.store.jobs.get_many(list(ids.values()))
        # One that is missing ended so long ago that it has expired.
        there = {number: found[job_id] for number, job_id in ids.items() if job_id in found}
        page = first_that_fit(list(there.values()))
        return page, (numbers.stop if len(page) == len(there) else list(there)[len(page)]) + 1

    def _write(self, start: int, ends: Sequence[Ending]) -> bool:
        counted = replace(self._group, swept=start, wake=False).counting({self._group.end_of_waiting: len(ends)})
        if counted.left == 0:
            step = finish(counted, self._services)
        else:
            step = Step(counted.left_alone() if counted.swept == counted.lowest_waiting else counted)
        changes = (*(change for each in ends for change in each.changes), *step.changes)
        if not commit(self._group, Step(step.group, changes), self._services):
            return self._look_again()
        for each in ends:
            each.concluded()
        self._ended += len(ends)
        self._group, self._at = step.group, start
        return self._group.due_key is not None

    def _look_again(self) -> bool:
        """A member or the group changed since it was read: true if the group is still to be swept."""
        found = self._services.store.groups.get(self._group.group_id)
        if found is None or found.due_key != self._group.due_key:
            return False
        self._group, self._at = found, min(self._at, found.swept or 0)
        return True


def tend(entry: DueItem, services: Services, *, worker_id: str, may_go_on: Callable[[], bool]) -> int:
    """Do what is to be done for a group that is due; how many members that has ended."""
    group = services.store.groups.get(entry.name)
    if group is None or group.due_key != entry.due_key:
        return 0
    match group.state:
        case GroupState.CREATING:
            _give_up(group, services)
            return 0
        case GroupState.STOPPING | GroupState.CANCELLING:
            return _Visit(group, services, worker_id).sweep(may_go_on)
        case GroupState.RUNNING | GroupState.COMPLETED | GroupState.FAILED | GroupState.CANCELLED:
            services.store.groups.change(group, group.left_alone())
            return 0
        case _:
            assert_never(group.state)


def _give_up(group: Group, services: Services) -> None:
    """End a creation that broke off; one that is only slow is looked at again."""
    now = services.clock.now()
    until = group.made_at + ABANDON_AFTER
    if until > now:
        services.store.groups.change(group, group.due_at(until, now, make_stamp(services.random_source)))
        return
    minutes = ABANDON_AFTER.total_seconds() / 60
    commit(group, broken_off(group, f"its creation broke off {minutes:g} minutes ago", services), services)
