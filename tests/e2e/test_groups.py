"""Groups on the deployed stacks: the stream carries a group from member to member, and to its callback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold import GroupState, JobStatus, NewJob
from tests.local_stack import LOCAL_AWS, eventually

if TYPE_CHECKING:
    from leasehold import Group
    from tests.local_stack import LocalStack

pytestmark = LOCAL_AWS

USERS = ("ada", "bob", "eve")
STEPS = [NewJob(job="daily_summary", payload={"user_id": user}) for user in USERS]
CALLBACK = NewJob(job="daily_summary", payload={"user_id": "team"})


def ended(stack: LocalStack, group_id: str) -> Group:
    seen = eventually(lambda: found if (found := stack.queue.groups.get(group_id)).has_ended else None)
    assert seen is not None, stack.queue.groups.get(group_id)
    return seen


def test_a_sequential_group_runs_in_order_and_calls_back(local_stack: LocalStack):
    group_id = local_stack.queue.groups.create(STEPS, callback=CALLBACK).group_id

    group = ended(local_stack, group_id)

    assert (group.state, group.completed) == (GroupState.COMPLETED, len(USERS))
    starts = [job.started_at for job in local_stack.queue.groups.members(group_id).jobs]
    assert starts == sorted(starts, key=lambda at: at or group.created_at)
    assert group.callback_job_id is not None
    assert local_stack.wait(group.callback_job_id).status is JobStatus.COMPLETED


def test_a_parallel_group_runs_and_is_counted(local_stack: LocalStack):
    group_id = local_stack.queue.groups.create(STEPS, mode="parallel").group_id

    group = ended(local_stack, group_id)

    assert (group.state, group.completed) == (GroupState.COMPLETED, len(USERS))
