"""Tend a group that needs more than the ends of its members; only then it has a due entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from leasehold.domain.group import GroupState
from leasehold.engine.cancel_group import broken_off
from leasehold.engine.count_ends import commit
from leasehold.engine.create_group import ABANDON_AFTER
from leasehold.engine.ports import make_stamp
from leasehold.engine.sweep_group import sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.domain.group import Group
    from leasehold.engine.parts import Parts
    from leasehold.store.jobs import DueGroup


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
            return sweep(group, parts, worker_id=worker_id, may_go_on=may_go_on)
        case GroupState.RUNNING | GroupState.COMPLETED | GroupState.FAILED | GroupState.CANCELLED:
            parts.store.groups.change(group, group.left_alone())
            return 0
        case _:
            assert_never(group.state)


def _give_up(group: Group, parts: Parts) -> None:
    """End a creation that broke off; one that is only slow is looked at again."""
    now = parts.clock.now()
    until = group.made_at + ABANDON_AFTER
    if until > now:
        parts.store.groups.change(group, group.due_at(until, now, make_stamp(parts.chance)))
        return
    minutes = ABANDON_AFTER.total_seconds() / 60
    commit(group, broken_off(group, f"its creation broke off {minutes:g} minutes ago", parts), parts)
