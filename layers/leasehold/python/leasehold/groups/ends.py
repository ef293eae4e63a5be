"""Ends of members: each owes its group that it is counted, and the group goes on in the transaction that counts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.engine.count_ends import after_member, log_change
from leasehold.engine.trust import report
from leasehold.kernel.hooks import NOTHING, Hooks, Joining
from leasehold.store.group_records import change_of

if TYPE_CHECKING:
    from leasehold.domain.job import Job
    from leasehold.engine.parts import Parts
    from leasehold.kernel.hooks import End


class GroupHooks(Hooks):
    def with_end(self, end: End, services: Parts) -> Joining:
        has_ended = end.step.target is not None and end.step.target.has_ended
        return Joining(is_owed=True) if has_ended else NOTHING

    def settle(self, job: Job, services: Parts) -> Joining:
        assert job.group_id is not None
        # Read after the job was seen to have ended: from then on its turn cannot come any more.
        group = services.store.groups.get(job.group_id)
        if group is None or group.has_ended:
            return NOTHING
        if job.member is None or group.member_id(job.member) != job.job_id:
            report(
                job.job_id, f"it calls itself member {job.member} of group {group.group_id}, which it is not", services
            )
            return NOTHING
        step = after_member(group, job, services)
        return Joining(
            changes=[change_of(group, step.group), *step.changes],
            then=lambda: log_change(group, step.group, services),
        )
