"""What must hold of a group between any two calls: every end is counted once, turns are in order, one callback."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from leasehold.groups.model import Group, GroupMode, GroupState, MemberEnd, end_of

if TYPE_CHECKING:
    from leasehold.kernel.job import Job
    from tests.crash.snapshot import Snapshot


def assert_counted(group: Group, now: Snapshot) -> None:
    members = now.members(group)
    assert sorted(members) == list(range(group.made)), "made members and stored ones differ"
    counted = Counter(end_of(job) for job in members.values() if job.has_ended and job.due is None)
    if group.abandoned:
        counted[MemberEnd.CANCELLED] += group.total - group.made
    assert {end: getattr(group, end) for end in MemberEnd} == {end: counted[end] for end in MemberEnd}, (
        "an end was not counted, or was counted twice"
    )
    assert group.left == group.total - counted.total()
    assert group.has_ended == (group.left == 0), f"it is {group.state} with {group.left} left"
    if group.mode is GroupMode.SEQUENTIAL:
        _assert_in_turn(group, members)
    _assert_called_back(group, now)


def _assert_in_turn(group: Group, members: dict[int, Job]) -> None:
    let_in = [number for number, job in members.items() if job.due_lane is not None and not job.has_ended]
    assert len(let_in) <= 1, f"{let_in} run at once"
    if group.state is GroupState.RUNNING and group.turn is not None:
        assert all(members[number].has_ended for number in range(group.turn)), "somebody was passed by"
        assert let_in in ([], [group.turn]), f"{let_in} runs in the turn of {group.turn}"
    if group.state is GroupState.CREATING:
        assert not let_in, "a member runs before all of them exist"
    started = [number for number, job in members.items() if job.runs and job.attempts]
    assert all(members[number].has_ended for number in range(max(started, default=0))), "out of order"


def _assert_called_back(group: Group, now: Snapshot) -> None:
    made = [job for job in now.jobs.values() if json.loads(job.payload_text).get("group", {}).get("group_id")]
    mine = [job for job in made if json.loads(job.payload_text)["group"]["group_id"] == group.group_id]
    assert [job.job_id for job in mine] == ([group.callback_job_id] if group.callback_job_id else [])
    for job in mine:
        assert json.loads(job.payload_text)["group"] == group.progress, "the callback was told something else"
