"""A group as a value: ids, counts, ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from leasehold.groups.model import (
    KEPT_FOR,
    Group,
    GroupMode,
    GroupState,
    MemberEnd,
    OnFailure,
    end_of,
    packed_codes,
    parse_group_id,
)
from leasehold.kernel.errors import InvalidKeyError
from leasehold.kernel.job import Job, Outcome, Run
from leasehold.kernel.keys import Due, JobPartition, Priority, make_job_id, partition_of, scheduled_for_of
from leasehold.kernel.transitions import ENDED, JobStatus

AT = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
GROUP = Group(
    group_id="import",
    mode=GroupMode.SEQUENTIAL,
    on_failure=OnFailure.STOP,
    total=12,
    left=12,
    created_at=AT,
    content="c",
    stamp="s",
    shards=3,
    codes=packed_codes([7]),
    made_at=AT,
    turn=0,
)


def member(status: JobStatus, *outcomes: Outcome) -> Job:
    runs = tuple(
        Run(number=n, worker="w", started_at=AT, ended_at=AT, outcome=outcome) for n, outcome in enumerate(outcomes)
    )
    return Job(
        job_id=make_job_id(AT, JobPartition(1), 7),
        job_type="step",
        stored_payload="{}",
        scheduled_for=AT,
        status=status,
        priority=Priority.NORMAL,
        max_attempts=1,
        created_at=AT,
        runs=runs,
    )


def test_a_member_s_id_says_when_its_group_was_made_and_where_it_is():
    ids = [GROUP.member_id(number) for number in range(12)]

    assert len(set(ids)) == 12
    assert {scheduled_for_of(job_id) for job_id in ids} == {AT}
    assert [partition_of(job_id).shard for job_id in ids] == [0, 1, 2] * 4
    assert ids == [GROUP.member_id(number) for number in range(12)]


@pytest.mark.parametrize("other", [{"group_id": "export"}, {"created_at": AT + timedelta(milliseconds=1)}])
def test_another_group_has_other_members(other):
    assert replace(GROUP, **other).member_id(0) != GROUP.member_id(0)


def test_members_are_due_in_the_order_of_their_numbers():
    places = [GROUP.place_of(number).key for number in (0, 1, 9, 10, 35, 36, 1295, 1296, 99_999)]

    assert places == sorted(places)
    assert Due.parse(places[0]).at == AT


@pytest.mark.parametrize(
    ("job", "end"),
    [
        (member(JobStatus.COMPLETED, Outcome.COMPLETED), MemberEnd.COMPLETED),
        (member(JobStatus.COMPLETED, Outcome.FAILED, Outcome.COMPLETED), MemberEnd.COMPLETED),
        (member(JobStatus.COMPLETED, Outcome.SKIPPED), MemberEnd.SKIPPED),
        (member(JobStatus.DEAD_LETTER, Outcome.FAILED), MemberEnd.FAILED),
        (member(JobStatus.DEAD_LETTER), MemberEnd.FAILED),
        (member(JobStatus.CANCELLED), MemberEnd.CANCELLED),
        (member(JobStatus.CANCELLED, Outcome.SKIPPED), MemberEnd.CANCELLED),
    ],
)
def test_an_end_counts_as_one_thing(job, end):
    assert end_of(job) is end


@pytest.mark.parametrize("status", sorted(set(JobStatus) - ENDED))
def test_who_has_not_ended_does_not_count(status):
    with pytest.raises(ValueError, match="is no end state"):
        end_of(member(status))


def test_counting_takes_from_what_is_left():
    counted = GROUP.counting({MemberEnd.COMPLETED: 2, MemberEnd.SKIPPED: 1})

    assert (counted.left, counted.completed, counted.skipped, counted.failed) == (9, 2, 1, 0)


@pytest.mark.parametrize(
    ("state", "failed", "ended"),
    [
        (GroupState.RUNNING, 0, GroupState.COMPLETED),
        (GroupState.RUNNING, 1, GroupState.FAILED),
        (GroupState.STOPPING, 1, GroupState.FAILED),
        (GroupState.CANCELLING, 0, GroupState.CANCELLED),
        (GroupState.CANCELLING, 1, GroupState.CANCELLED),
        (GroupState.CREATING, 0, GroupState.COMPLETED),
    ],
)
def test_how_it_ends_follows_from_what_became_of_it(state, failed, ended):
    group = replace(GROUP, state=state, failed=failed, swept=3, due_key="k", wake=True).finished(AT)

    assert (group.state, group.ended_at, group.expires_at) == (ended, AT, int((AT + KEPT_FOR).timestamp()))
    assert (group.turn, group.swept, group.due_key, group.wake) == (None, None, None, False)


def test_an_id_is_free_once_its_group_is_forgotten_or_never_came_to_be():
    ended = GROUP.finished(AT)

    assert not GROUP.is_free(AT + 2 * KEPT_FOR)
    assert not ended.is_free(AT + KEPT_FOR - timedelta(seconds=1))
    assert ended.is_free(AT + KEPT_FOR)
    assert replace(ended, abandoned=True).is_free(AT)
    assert not replace(GROUP, abandoned=True).is_free(AT)


def test_only_a_group_with_a_callback_that_has_ended_has_made_one():
    calling = replace(GROUP, callback="tell")

    assert calling.callback_job_id is None
    assert GROUP.finished(AT).callback_job_id is None
    made = calling.finished(AT).callback_job_id
    assert made is not None
    assert (scheduled_for_of(made), partition_of(made).shard) == (AT, 0)


@pytest.mark.parametrize("good", ["a", "Import-2026.11_15:eu", "0", "x" * 64])
def test_an_id_is_made_of_what_keys_can_hold(good):
    assert parse_group_id(good) == good


@pytest.mark.parametrize("bad", ["", "#", "a#b", "-a", "a b", "é", "x" * 65, 7, None, "a\n"])
def test_what_is_no_id_is_refused_with_a_reason(bad):
    with pytest.raises(InvalidKeyError, match="a group's id is 1 to 64 characters"):
        parse_group_id(bad)
