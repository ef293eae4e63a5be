"""Cancel a group: one write says so, and polls see to its members."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from leasehold.audit.records import audit_entry_of, contended, recorded_reason, tries
from leasehold.groups.create import ABANDON_AFTER
from leasehold.groups.ends import (
    Step,
    after_end,
    ask_to_stop,
    commit,
    end_alone,
    ended,
    finish,
    log_change,
    may_be_asked_to_stop,
    may_be_ended,
)
from leasehold.groups.model import Group, GroupEndedError, GroupNotFoundError, GroupState, MemberEnd, parse_group_id
from leasehold.groups.records import are_codes_apart, callback_used, change_of, codes_expire
from leasehold.kernel.keys import make_stamp
from leasehold.kernel.payload_forms import size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leasehold.groups.ends import EndedMember
    from leasehold.kernel.job import Job
    from leasehold.kernel.jobs import DueItem
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change


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
                step = Step(_cancelling(group, reason, group.total, services))
            case GroupState.CANCELLING:
                return group
            case GroupState.COMPLETED | GroupState.FAILED | GroupState.CANCELLED:
                raise GroupEndedError(group.group_id, "cancel", group.state)
            case _:
                assert_never(group.state)
        if _commit_with_record(group, step, reason, services):
            return step.group
    raise contended(f"group {group_id!r}")


def broken_off(group: Group, reason: str, services: Services) -> Step:
    """The end of a group that is still being made. What was never made counts as cancelled; nobody is called back."""
    unmade = {MemberEnd.CANCELLED: group.total - group.made}
    given_up = replace(_cancelling(group, reason, group.made, services), abandoned=True, callback=None).counting(unmade)
    ended = given_up if given_up.left else given_up.finished(services.clock.now())
    changes: list[Change] = [] if group.callback is None else [callback_used(group.group_id)]
    if ended.has_ended and are_codes_apart(ended):
        changes.append(codes_expire(ended))
    return Step(ended, tuple(changes))


def _commit_with_record(group: Group, step: Step, reason: str, services: Services) -> bool:
    actor = services.identity.actor()
    audit_entry = audit_entry_of(
        f"group#{group.group_id}", "cancel", {"left": group.left}, services, by=actor, reason=reason
    )
    audit = services.store.audits.audit(audit_entry)
    changes = [change_of(group, step.group), *step.changes]
    if not services.store.audits.commit(changes, audit):
        return False
    log_change(group, step.group, services)
    return True


def _cancelling(group: Group, reason: str, members: int, services: Services) -> Group:
    now = services.clock.now()
    cancelling = replace(group, state=GroupState.CANCELLING, reason=reason, swept=members)
    return cancelling.due_at(now, now, make_stamp(services.random_source))


# Members that one transaction ends, and their bytes: what it touches is 4 MB at most.
_PAGE = 50
_BYTES = 2 * 1024 * 1024
# Pages after which others in the queue get their turn.
_PAGES_A_VISIT = 40


def sweep(group: Group, services: Services, *, worker_id: str, may_go_on: Callable[[], bool]) -> int:
    """End what waits, for the length of one visit; how many members that has ended."""
    visit = _Visit(group, services, worker_id)
    for _ in range(_PAGES_A_VISIT):
        if not may_go_on() or not visit.sweep_page():
            return visit.ended
    visit.come_back()
    return visit.ended


class _Visit:
    def __init__(self, group: Group, services: Services, worker_id: str) -> None:
        self.ended = 0
        self._group = group
        # Where this visit is; pages without anything to do are passed without a write.
        self._at = group.swept or 0
        self._services = services
        self._worker_id = worker_id

    def come_back(self) -> None:
        now = self._services.clock.now()
        moved = replace(self._group, swept=self._at)
        self._services.store.groups.change(
            self._group, moved.due_at(now, now, make_stamp(self._services.random_source))
        )

    def sweep_page(self) -> bool:
        """End some members; False if that was all, or if somebody else has the group by now."""
        page, start = self._page()
        ends = [self._end(job) for job in page if may_be_ended(job, self._group)]
        running = [job for job in page if may_be_asked_to_stop(job, self._group)]
        if not all(end_alone(each, self._services) for each in ends if not each.is_counted):
            return self._look_again()
        if ends and running:
            # Whoever stops may make room for one that waits: those that wait are ended first, and this page seen again.
            start = self._at
        elif not all(ask_to_stop(job, self._group, self._services) for job in running):
            return self._look_again()
        counted = [each for each in ends if each.is_counted]
        if not counted and start > self._group.lowest_waiting:
            self._at = start
            return True
        return self._write(start, counted)

    def _page(self) -> tuple[list[Job], int]:
        """The members below where this visit is, the last first, as many as fit into a transaction; and the lowest."""
        numbers = range(self._at - 1, max(self._group.lowest_waiting, self._at - _PAGE) - 1, -1)
        found = self._services.store.jobs.get_many([self._group.member_id(number) for number in numbers])
        page: list[Job] = []
        size = 0
        for number in numbers:
            job = found.get(self._group.member_id(number))
            if job is None:
                continue  # it ended so long ago that it has expired
            size += size_of(job.stored_payload)
            if page and size > _BYTES:
                return page, number + 1
            page.append(job)
        return page, numbers.stop + 1

    def _write(self, start: int, ends: Sequence[EndedMember]) -> bool:
        counted = replace(self._group, swept=start, wake=False).counting(Counter(each.end for each in ends))
        step = self._after(counted)
        changes = (*(change for each in ends for change in each.ending.changes), *step.changes)
        if not commit(self._group, Step(step.group, changes), self._services):
            return self._look_again()
        for each in ends:
            after_end(each, self._services)
        self.ended += len(ends)
        self._group, self._at = step.group, start
        return self._group.due_key is not None

    def _after(self, counted: Group) -> Step:
        if counted.left == 0:
            return finish(counted, self._services)
        return Step(counted.left_alone() if counted.swept == counted.lowest_waiting else counted)

    def _look_again(self) -> bool:
        """A member or the group changed since it was read: true if the group is still to be swept."""
        found = self._services.store.groups.get(self._group.group_id)
        if found is None or found.due_key != self._group.due_key:
            return False
        self._group, self._at = found, min(self._at, found.swept or 0)
        return True

    def _end(self, job: Job) -> EndedMember:
        return ended(job, self._group, self._services, self._worker_id)


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
            return sweep(group, services, worker_id=worker_id, may_go_on=may_go_on)
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
