"""What a filter may say, and what it is told when it says something else."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from leasehold import JobStatus
from leasehold.admin.others import DeadLetterFilter
from leasehold.admin.pages import JobFilter
from leasehold.kernel.errors import (
    InvalidInputError,
    InvalidJobTypeError,
    InvalidKeyError,
    InvalidOptionError,
    NaiveDatetimeError,
)
from leasehold.testing import FakeClock

NOW = FakeClock().now()


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"job_type": "No Type"}, InvalidJobTypeError),
        ({"job_type": 3}, InvalidJobTypeError),
        ({"statuses": {"done"}}, InvalidOptionError),
        ({"statuses": 7}, InvalidOptionError),
        ({"statuses": [None]}, InvalidOptionError),
        ({"scheduled_from": datetime(2026, 1, 1)}, NaiveDatetimeError),  # noqa: DTZ001  that is the point
        ({"scheduled_from": "2026-01-01"}, InvalidInputError),
        ({"scheduled_from": NOW, "scheduled_to": NOW}, InvalidOptionError),
        ({"ended_from": NOW, "ended_to": NOW - timedelta(hours=1)}, InvalidOptionError),
        ({"dedup_key": "a#b"}, InvalidKeyError),
        ({"dedup_key": ""}, InvalidKeyError),
        ({"concurrency_key": "x" * 300}, InvalidKeyError),
        ({"group_id": "a b"}, InvalidKeyError),
        ({"schedule": "Nightly!"}, InvalidKeyError),
        ({"template": "#"}, InvalidKeyError),
    ],
)
def test_a_bad_value_gets_a_named_error(asked: dict[str, Any], error: type[InvalidInputError]) -> None:
    with pytest.raises(error):
        JobFilter(**asked)


def test_statuses_may_be_words_in_any_collection() -> None:
    assert JobFilter(statuses=["failed", "pending"]).statuses == {JobStatus.FAILED, JobStatus.PENDING}  # type: ignore[arg-type]
    assert JobFilter(statuses="failed").statuses == {JobStatus.FAILED}  # type: ignore[arg-type]


def test_an_end_date_leaves_out_what_has_not_ended() -> None:
    assert JobFilter(ended_from=NOW).wanted_statuses == {each for each in JobStatus if each.has_ended}
    assert JobFilter(ended_from=NOW, statuses=frozenset({JobStatus.PENDING})).wanted_statuses == frozenset()


def test_a_fingerprint_is_the_same_for_the_same_filter_and_no_other() -> None:
    one = JobFilter(statuses=frozenset({JobStatus.FAILED, JobStatus.PENDING}))
    same = JobFilter(statuses=frozenset({JobStatus.PENDING, JobStatus.FAILED}))

    assert one.fingerprint == same.fingerprint
    others = [JobFilter(), JobFilter(dedup_key="a"), JobFilter(concurrency_key="a"), JobFilter(ended_from=NOW)]
    assert len({one.fingerprint, *(each.fingerprint for each in others)}) == 5


def test_dead_letters_are_asked_for_by_type_and_date() -> None:
    with pytest.raises(InvalidJobTypeError):
        DeadLetterFilter(job_type="No Type")
    with pytest.raises(InvalidOptionError):
        DeadLetterFilter(failed_from=NOW, failed_to=NOW)
