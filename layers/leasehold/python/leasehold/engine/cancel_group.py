"""Cancel a group: one write says so, and polls see to its members."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from leasehold.domain.errors import GroupEndedError, GroupNotFoundError, StoreUnavailableError
from leasehold.domain.group import Group, GroupState, MemberEnd, parse_group_id
from leasehold.engine.count_ends import Step, tell_change
from leasehold.engine.operate import refuse_without_reason
from leasehold.engine.ports import make_stamp
from leasehold.store.groups import GroupChanged, callback_used
from leasehold.store.tokens import request_token

if TYPE_CHECKING:
    from leasehold.engine.parts import Parts

_TRIES = 5


def find_group(group_id: object, parts: Parts) -> Group:
    group = parts.store.groups.get(parse_group_id(group_id))
    if group is None:
        raise GroupNotFoundError(str(group_id))
    return group


def cancel_group(group_id: object, reason: str, parts: Parts) -> Group:
    """Have the members that wait cancelled, and those that run asked to stop."""
    refuse_without_reason(reason)
    for _ in range(_TRIES):
        group = find_group(group_id, parts)
        match group.state:
            case GroupState.CREATING:
                step = broken_off(group, reason, parts)
            case GroupState.RUNNING | GroupState.STOPPING:
                step = Step(_cancelling(group, reason, group.total, parts))
            case GroupState.CANCELLING:
                return group
            case GroupState.COMPLETED | GroupState.FAILED | GroupState.CANCELLED:
                raise GroupEndedError(group.group_id, "cancel", group.state)
            case _:
                assert_never(group.state)
        if commit(group, step, parts):
            return step.group
    raise StoreUnavailableError(f"group {group_id!r} changed {_TRIES} times while this was tried; try again")


def broken_off(group: Group, reason: str, parts: Parts) -> Step:
    """The end of a group that is still being made. What was never made counts as cancelled; nobody is called back."""
    unmade = {MemberEnd.CANCELLED: group.total - group.made}
    given_up = replace(_cancelling(group, reason, group.made, parts), abandoned=True, callback=None).counting(unmade)
    changes = () if group.callback is None else (callback_used(group.group_id),)
    return Step(given_up if given_up.left else given_up.finished(parts.clock.now()), changes)


def commit(group: Group, step: Step, parts: Parts) -> bool:
    try:
        if step.changes:
            token = request_token("group", group.group_id, group.stamp, make_stamp(parts.chance))
            parts.store.groups.change_with(group, step.group, step.changes, token=token)
        elif not parts.store.groups.change(group, step.group):
            return False
    except GroupChanged:
        return False
    tell_change(group, step.group, parts)
    return True


def _cancelling(group: Group, reason: str, members: int, parts: Parts) -> Group:
    now = parts.clock.now()
    cancelling = replace(group, state=GroupState.CANCELLING, reason=reason, swept=members, turn=None)
    return cancelling.due_at(now, now, make_stamp(parts.chance))
