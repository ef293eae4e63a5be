"""A group that cannot be accepted is refused as a whole, by a named error, before anything is written."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from leasehold.groups.model import MAX_MEMBERS, InvalidMemberError
from leasehold.kernel.enqueue import NewJob
from leasehold.kernel.errors import (
    InvalidInputError,
    InvalidKeyError,
    InvalidOptionError,
    InvalidPayloadError,
    PayloadTooLargeError,
    UnknownJobTypeError,
)
from leasehold.kernel.payload import MAX_PAYLOAD_BYTES
from leasehold.testing.clock import DEFAULT_START
from tests.queue.bad_calls import CASES, Bad
from tests.worlds import spied_queue

GOOD = NewJob(job="user_sync", payload={"n": 1})
A_SET: Any = {1}
LARGEST: dict[str, Any] = {"text": "x" * (MAX_PAYLOAD_BYTES - len('{"text":""}'))}
SOON = DEFAULT_START + timedelta(hours=1)

MEMBERS: dict[str, tuple[NewJob, type[InvalidInputError], str]] = {
    "unknown type": (NewJob(job="user_snyc"), UnknownJobTypeError, "this job type is not deployed"),
    "bad payload": (NewJob(job="user_sync", payload={"x": A_SET}), InvalidPayloadError, "payload value at payload.x"),
    "a dedup key": (NewJob(job="user_sync", dedup_key="k"), InvalidOptionError, "a member takes no dedup_key"),
    "a time": (
        NewJob(job="user_sync", run_at=SOON),
        InvalidOptionError,
        "a member takes no run_at: a member runs when",
    ),
    "a delay": (NewJob(job="user_sync", run_in=timedelta(hours=1)), InvalidOptionError, "a member takes no run_in"),
    "a retry": (NewJob(job="user_sync", retry_of="x"), InvalidOptionError, "a member takes no retry_of"),
    "too late to start": (NewJob(job="user_sync", start_by=DEFAULT_START), InvalidOptionError, "start_by is not after"),
}

OPTIONS: dict[str, tuple[dict[str, Any], type[InvalidInputError], str]] = {
    "mode": (
        {"mode": "backwards"},
        InvalidOptionError,
        "mode is not known: got 'backwards'. Use one of sequential, par",
    ),
    "policy": ({"on_failure": "panic"}, InvalidOptionError, "Use one of stop, continue, skip_remaining"),
    "id": ({"group_id": "a#b"}, InvalidKeyError, "a group's id is"),
    "creator": ({"created_by": ""}, InvalidOptionError, "created_by is"),
    "callback's type": ({"callback": NewJob(job="nobody")}, UnknownJobTypeError, "not deployed"),
    "callback's payload": ({"callback": NewJob(job="user_sync", payload=[1])}, InvalidOptionError, "is an object"),
    "callback's name": (
        {"callback": NewJob(job="user_sync", payload={"group": 1})},
        InvalidOptionError,
        "without 'group', where it is told",
    ),
    "callback's time": (
        {"callback": NewJob(job="user_sync", run_at=SOON)},
        InvalidOptionError,
        "a callback takes no run_at: its group's end makes it",
    ),
    "callback that would become too large": (
        {"callback": NewJob(job="user_sync", payload=LARGEST)},
        PayloadTooLargeError,
        "the payload is larger than the limit",
    ),
}


def refused(jobs: list[NewJob], **options: Any) -> InvalidInputError:
    queue, table = spied_queue()
    with pytest.raises(InvalidInputError) as error:
        queue.groups.create(jobs, **options)
    assert table.writes == []
    return error.value


@pytest.mark.parametrize("case", MEMBERS)
@pytest.mark.parametrize("place", [0, 2])
def test_a_bad_member_is_named_by_its_number(case, place):
    job, error, reason = MEMBERS[case]
    jobs = [GOOD, GOOD]
    jobs.insert(place, job)

    told = refused(jobs)

    assert isinstance(told, InvalidMemberError)
    assert (told.member, type(told.error)) == (place, error)
    assert f"member {place}: {reason}" in str(told)


@pytest.mark.parametrize("bad", CASES.values(), ids=CASES.keys())
def test_whatever_enqueue_refuses_is_refused_of_a_member_too(bad: Bad):
    told = refused([GOOD, NewJob(job=bad.job, payload=bad.payload, **bad.options)])

    assert isinstance(told, InvalidMemberError)
    assert told.member == 1


@pytest.mark.parametrize("case", OPTIONS)
def test_a_bad_option_is_refused(case):
    options, error, reason = OPTIONS[case]

    told = refused([GOOD], **options)

    assert type(told) is error
    assert reason in str(told)


def test_a_group_has_at_least_one_member_and_at_most_so_many():
    assert f"a group has 1 to {MAX_MEMBERS} members: got 0" in str(refused([]))
    assert f"got {MAX_MEMBERS + 1}" in str(refused([GOOD] * (MAX_MEMBERS + 1)))


def test_the_queue_of_these_tests_accepts_a_good_group():
    queue, table = spied_queue()

    queue.groups.create([GOOD], group_id="good", callback=NewJob(job="user_sync"))

    assert len(table.writes) == 3
