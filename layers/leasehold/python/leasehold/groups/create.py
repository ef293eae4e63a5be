"""Create a group: all of its members first, none of which can run; then one write that lets them.

The group counts its members as they are made, in the transactions that make them. So a creation that broke off goes on
where it was, one that nobody goes on with is given up with exactly the members that exist, and no member can be made
after that.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.audit.records import audit_entry_of, check_audit_entry
from leasehold.groups.ends import next_turn
from leasehold.groups.model import Group, GroupBrokenOffError, GroupExistsError, GroupMode, GroupState
from leasehold.groups.plan import GroupRequest, checked, content_of, new_group, planned
from leasehold.kernel.errors import StoreUnavailableError
from leasehold.kernel.jobs import insertion
from leasehold.kernel.keys import make_stamp
from leasehold.kernel.offload import offloaded_many
from leasehold.kernel.partitions import awakened
from leasehold.kernel.payload_forms import size_of
from leasehold.kernel.table import request_token
from leasehold.lean import dataclass
from leasehold.telemetry import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.audit.records import Audit
    from leasehold.kernel.job import Job
    from leasehold.kernel.services import Services
    from leasehold.kernel.table import Change, Record

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
    services.deployment.refuse_if_halted()
    request = checked(request)
    group_id = request.group_id or f"{services.random_source.bits(80):020x}"
    for _ in range(_TRIES):
        found = services.store.groups.get(group_id)
        if found is not None and not found.is_free(services.clock.now()):
            return GroupCreated(group=_again(found, request, services), created=False)
        plan = planned(request, new_group(request, group_id, services), services)
        now = services.clock.now()
        group = plan.group.due_at(now + ABANDON_AFTER, now, make_stamp(services.random_source))
        audit = None if reason is None else _record(group, reason, services)
        also = [] if audit is None else audit.changes
        if services.store.groups.begin(group, plan.callback, found, token=_token(group, "begin", services), also=also):
            if audit is not None:
                audit.keep(services.store.table)
            return GroupCreated(group=_open(_fill(group, plan.members, services), services), created=True)
        # Somebody was quicker: look at what they made.
    raise _contended(group_id)


def _record(group: Group, reason: str, services: Services) -> Audit:
    actor = services.identity.actor()
    reason = check_audit_entry("group", actor, reason, services)
    details: Record = {"mode": str(group.mode), "total": group.total}
    audit_entry = audit_entry_of(f"group#{group.group_id}", "create", details, services, by=actor, reason=reason)
    return services.store.audits.audit(audit_entry)


def _again(found: Group, request: GroupRequest, services: Services) -> Group:
    """Go on with a creation that may have broken off; one that is over is left as it is."""
    if found.content != content_of(request):
        raise GroupExistsError(found.group_id, found.state)
    if found.abandoned:
        raise _broken_off(found)
    if found.state is not GroupState.CREATING:
        return found
    return _open(_fill(found, planned(request, found, services).members, services), services)


def _fill(group: Group, members: Sequence[Job], services: Services) -> Group:
    """Make the members that do not exist yet, some at a time."""
    tries = 0
    while group.state is GroupState.CREATING and group.made < group.total:
        services.deployment.refuse_if_halted()
        batch = _batch(offloaded_many(members[group.made : group.made + _MEMBERS_AT_ONCE], services))
        now = services.clock.now()
        filled = replace(group, made=group.made + len(batch), made_at=now)
        token = _token(group, f"fill {group.made}", services)
        if not services.store.groups.change_with(group, filled, [insertion(job) for job in batch], token=token):
            # An earlier try of ours whose response was lost, another creation of the same group, or its cancel.
            tries += 1
            if tries == _TRIES:
                raise _contended(group.group_id)
            group = _current(group, services)
            continue
        group = filled
        for job in batch:
            _tell_made(job, services)
    return group


def _open(group: Group, services: Services) -> Group:
    """Let the group run: the first member of a sequential one, all of them in a parallel one."""
    for _ in range(_TRIES):
        if group.state is not GroupState.CREATING:
            return group
        opened = replace(group.left_alone(), state=GroupState.RUNNING)
        changes: list[Change] = []
        stamp = make_stamp(services.random_source)
        if group.mode is GroupMode.PARALLEL:
            changes.append(awakened(group.scope, services.clock.now(), stamp, services.deployment.registry().shards))
        else:
            turn, let_in = next_turn(group, 0, services)
            opened = replace(opened, turn=turn)
            changes += let_in
        if not services.store.groups.change_with(group, opened, changes, token=_token(group, "open", services)):
            group = _current(group, services)
            continue
        services.telemetry.event(
            Event.GROUP_CREATED,
            group_id=group.group_id,
            mode=str(group.mode),
            members=group.total,
            created_by=group.created_by,
        )
        return opened
    raise _contended(group.group_id)


def _current(group: Group, services: Services) -> Group:
    """The group as it is now, if it is still this one and comes to be."""
    found = services.store.groups.get(group.group_id)
    if found is None or found.stamp != group.stamp or found.abandoned:
        raise _broken_off(found or group)
    return found


def _batch(members: Sequence[Job]) -> list[Job]:
    """The first of them that fit into a transaction."""
    batch: list[Job] = []
    size = 0
    for job in members:
        size += size_of(job.stored_payload)
        if batch and size > _BYTES_AT_ONCE:
            break
        batch.append(job)
    return batch


def _tell_made(job: Job, services: Services) -> None:
    services.telemetry.event(
        Event.JOB_ENQUEUED,
        job_id=job.job_id,
        job_type=job.job_type,
        group_id=job.group_id,
        scheduled_for=job.scheduled_for.isoformat(),
        created_by=job.created_by,
        trace=job.trace,
    )


def _token(group: Group, step: str, services: Services) -> str:
    return request_token("group", group.group_id, group.stamp, step, make_stamp(services.random_source))


def _broken_off(group: Group) -> GroupBrokenOffError:
    return GroupBrokenOffError(group.group_id, group.reason or "somebody else created it anew")


def _contended(group_id: str) -> StoreUnavailableError:
    return StoreUnavailableError(f"group {group_id!r} changed {_TRIES} times during its creation; create it again")
