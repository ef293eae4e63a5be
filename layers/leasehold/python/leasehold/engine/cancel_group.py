"""Cancel a group: one write says so, and polls see to its members."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from leasehold.domain.errors import GroupEndedError, GroupNotFoundError
from leasehold.domain.group import Group, GroupState, MemberEnd, parse_group_id
from leasehold.engine.count_ends import Step, log_change
from leasehold.engine.deeds import contended, deed_of, token_of, tries
from leasehold.engine.operate import refuse_without_reason
from leasehold.engine.ports import make_stamp
from leasehold.store.group_records import are_codes_apart, change_of, codes_expire
from leasehold.store.groups import callback_used

if TYPE_CHECKING:
    from leasehold.engine.parts import Parts
    from leasehold.store.table import Change


def find_group(group_id: object, parts: Parts) -> Group:
    group = parts.store.groups.get(parse_group_id(group_id))
    if group is None:
        raise GroupNotFoundError(str(group_id))
    return group


def cancel_group(group_id: object, reason: str, parts: Parts) -> Group:
    """Have the members that wait cancelled, and those that run asked to stop."""
    refuse_without_reason(reason)
    for _ in tries(parts):
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
        if _commit_with_record(group, step, reason, parts):
            return step.group
    raise contended(f"group {group_id!r}")


def broken_off(group: Group, reason: str, parts: Parts) -> Step:
    """The end of a group that is still being made. What was never made counts as cancelled; nobody is called back."""
    unmade = {MemberEnd.CANCELLED: group.total - group.made}
    given_up = replace(_cancelling(group, reason, group.made, parts), abandoned=True, callback=None).counting(unmade)
    ended = given_up if given_up.left else given_up.finished(parts.clock.now())
    changes: list[Change] = [] if group.callback is None else [callback_used(group.group_id)]
    if ended.has_ended and are_codes_apart(ended):
        changes.append(codes_expire(ended))
    return Step(ended, tuple(changes))


def _commit_with_record(group: Group, step: Step, reason: str, parts: Parts) -> bool:
    actor = parts.identity.actor()
    deed = deed_of(f"group#{group.group_id}", "cancel", {"left": group.left}, parts, by=actor, reason=reason)
    audit = parts.store.audits.audit(deed)
    changes = [change_of(group, step.group), *step.changes]
    if not parts.store.audits.commit(changes, audit, token=token_of(deed)):
        return False
    log_change(group, step.group, parts)
    return True


def _cancelling(group: Group, reason: str, members: int, parts: Parts) -> Group:
    now = parts.clock.now()
    cancelling = replace(group, state=GroupState.CANCELLING, reason=reason, swept=members)
    return cancelling.due_at(now, now, make_stamp(parts.chance))
