"""Create a group: all of its members first, none of which can run; then one write that lets them.

The group counts its members as they are made, in the transactions that make them. So a creation that broke off goes on
where it was, one that nobody goes on with is given up with exactly the members that exist, and no member can be made
after that.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import accumulate
from typing import TYPE_CHECKING

from leasehold.audit.records import audit_entry_by_actor
from leasehold.bulk.enqueue_many import offloaded_many
from leasehold.groups.ends import Step, commit, due_after, next_turn, token_of
from leasehold.groups.model import Group, GroupBrokenOffError, GroupExistsError, GroupMode, GroupState
from leasehold.groups.plan import GroupRequest, callback_of, content_of, members_of, new_group
from leasehold.kernel.enqueue import log_enqueued
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.jobs import insertion
from leasehold.kernel.keys import make_stamp, partition_of
from leasehold.kernel.payload import size_of
from leasehold.lean import dataclass
from leasehold.limits.scopes import awakened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.audit.records import Audit
    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services

# A creation that made no member for so long has broken off.
ABANDON_AFTER = timedelta(minutes=15)
_TRIES = 5
# A transaction holds 100 changes and 4 MB. Fewer, since one that meets a throttled partition is done again as a whole.
_MEMBERS_AT_ONCE = 49
_BYTES_AT_ONCE = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCreated:
    """Which group it is, and whether this call made it, or one before it."""

    group: Group
    created: bool

    @property
    def group_id(self) -> str:
        return self.group.group_id


def create(request: GroupRequest, services: Services, *, reason: str | None = None) -> GroupCreated:
    """Make a group and let it run; the same request with the same id finds the group, and goes on with its making.

    With a `reason`, who wanted it is recorded together with its beginning.
    """
    group_id = request.group_id or f"{services.random_source.bits(80):020x}"
    for _ in range(_TRIES):
        found = services.store.groups.get(group_id)
        if found is not None and not found.is_free(services.clock.now()):
            return GroupCreated(group=_again(found, request, services), created=False)
        group = new_group(request, group_id, services)
        members, callback = members_of(request, group, services), callback_of(request, group, services)
        if callback is not None:
            group = replace(group, callback=callback.job_type, callback_code=partition_of(callback.job_id).code)
        group = due_after(ABANDON_AFTER, group, services)
        audit = None if reason is None else _record(group, reason, services)
        also = [] if audit is None else audit.changes
        if services.store.groups.begin(group, callback, found, token=token_of(group, services), also=also):
            if audit is not None:
                audit.keep(services.store.table)
            return GroupCreated(group=_open(_fill(group, members, services), services), created=True)
        # Somebody was quicker: look at what they made.
    raise _contended(group_id)


def _record(group: Group, reason: str, services: Services) -> Audit:
    target, mode = f"group#{group.group_id}", str(group.mode)
    entry = audit_entry_by_actor("group", target, "create", services, reason=reason, mode=mode, total=group.total)
    return services.store.audits.audit(entry)


def _again(found: Group, request: GroupRequest, services: Services) -> Group:
    """Go on with a creation that may have broken off; one that is over is left as it is."""
    if found.content != content_of(request):
        raise GroupExistsError(found.group_id, found.state)
    if found.abandoned:
        raise GroupBrokenOffError(found.group_id, found.reason)
    if found.state is not GroupState.CREATING:
        return found
    return _open(_fill(found, members_of(request, found, services), services), services)


def _fill(group: Group, members: Sequence[Job], services: Services) -> Group:
    """Make the members that do not exist yet, some at a time."""
    tries = 0
    while group.state is GroupState.CREATING and group.made < group.total:
        services.deployment.refuse_if_halted()
        batch = first_that_fit(offloaded_many(members[group.made : group.made + _MEMBERS_AT_ONCE], services))
        now = services.clock.now()
        filled = replace(group, made=group.made + len(batch), made_at=now)
        if not commit(group, Step(filled, tuple(insertion(job) for job in batch)), services):
            # An earlier try of ours whose response was lost, another creation of the same group, or its cancel.
            tries += 1
            if tries == _TRIES:
                raise _contended(group.group_id)
            group = _current(group, services)
            continue
        group = filled
        for job in batch:
            log_enqueued(job, services)
    return group


def _open(group: Group, services: Services) -> Group:
    """Let the group run: the first member of a sequential one, all of them in a parallel one."""
    for _ in range(_TRIES):
        if group.state is not GroupState.CREATING:
            return group
        opened = replace(group.left_alone(), state=GroupState.RUNNING)
        if group.mode is GroupMode.PARALLEL:
            now, stamp = services.clock.now(), make_stamp(services.random_source)
            step = Step(opened, (awakened(group.scope, now, stamp, services.deployment.registry().shards),))
        else:
            turn, let_in = next_turn(group, 0, services)
            step = Step(replace(opened, turn=turn), let_in)
        if commit(group, step, services):
            return step.group
        group = _current(group, services)
    raise _contended(group.group_id)


def _current(group: Group, services: Services) -> Group:
    """The group as it is now, if it is still this one and comes to be."""
    found = services.store.groups.get(group.group_id)
    if found is None or found.stamp != group.stamp or found.abandoned:
        raise GroupBrokenOffError(group.group_id, (found or group).reason)
    return found


def first_that_fit(members: Sequence[Job]) -> list[Job]:
    """The first of them that fit into a transaction, one at least."""
    sizes = accumulate(size_of(job.stored_payload) for job in members)
    return [job for job, size in zip(members, sizes, strict=True) if job is members[0] or size <= _BYTES_AT_ONCE]


def _contended(group_id: str) -> StoreUnavailableError:
    return StoreUnavailableError(f"group {group_id!r} changed {_TRIES} times during its creation; create it again")
