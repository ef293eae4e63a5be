"""What property tests draw from: times, ids and values as callers bring them, jobs and dead letters as stored."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from leasehold.kernel.dead_letter import DeadLetter, Resolution
from leasehold.kernel.job import DedupRef, Job, Outcome, Run
from leasehold.kernel.keys import (
    LATEST,
    MAX_SHARDS,
    RANDOM_BITS,
    SYSTEM_CODE,
    Due,
    JobPartition,
    Priority,
    from_millis,
    make_job_id,
    position_at,
    scheduled_for_of,
    to_millis,
)
from leasehold.kernel.retry import Delays, Exponential, Fixed
from leasehold.kernel.transitions import JobStatus

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#"), min_size=1, max_size=20)
instants = st.integers(0, to_millis(LATEST)).map(from_millis)
shards = st.integers(0, MAX_SHARDS - 1)
partitions = st.builds(JobPartition, st.integers(0, SYSTEM_CODE), shards)
random_bits = st.integers(0, (1 << RANDOM_BITS) - 1)
job_ids = st.builds(make_job_id, instants, partitions, random_bits)

_NAIVE_FIRST, _NAIVE_LAST = datetime(1, 1, 3), datetime(9999, 12, 29)  # noqa: DTZ001  the strategy adds an offset
offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
aware_datetimes = st.datetimes(_NAIVE_FIRST, _NAIVE_LAST, timezones=offsets)

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | aware_datetimes
    | st.decimals(allow_nan=False, allow_infinity=False)
)
reserved_names = st.sampled_from(["$datetime", "$decimal", "$escaped"])
json_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(texts, inner, max_size=4)
        | st.dictionaries(reserved_names, inner, min_size=1, max_size=2)
    ),
    max_leaves=12,
)

runs = st.builds(
    Run,
    number=st.integers(1, 10_000),
    worker=names,
    started_at=instants,
    ended_at=instants,
    outcome=st.sampled_from(Outcome),
    error=st.none() | texts,
    error_code=st.none() | names,
    reason=st.none() | texts,
    artifacts=st.lists(texts, max_size=3).map(tuple),
)
histories = st.lists(runs, max_size=3).map(tuple)
# As they are made, or longer: one of many in a call, or moved by hand.
positions = st.builds(
    lambda made_at, end: position_at(made_at) + end,
    instants,
    st.text("0123456789abcdefghijklmnopqrstuvwxyz", max_size=12),
)
dues = st.builds(Due, at=instants, position=positions, item_id=job_ids, attempt=st.integers(0, 10_000))
seconds = st.integers(1, 86_400).map(lambda count: timedelta(seconds=count))
retries = (
    st.builds(Exponential, base=seconds, cap=st.just(timedelta(days=2)), jitter=st.sampled_from([0.0, 0.1, 0.5]))
    | st.builds(Fixed, seconds)
    | st.builds(Delays, st.lists(seconds, min_size=1, max_size=4).map(tuple))
)


def _job(values: dict[str, Any]) -> Job:
    """A job's id says what time it is for; of one that has ended, its last start says when it was last tried."""
    last = values["last_attempt_at"] or (values["started_at"] if values["status"].has_ended else None)
    return Job(**{**values, "scheduled_for": scheduled_for_of(values["job_id"]), "last_attempt_at": last})


JOB_FIELDS: dict[str, st.SearchStrategy[object]] = {
    "job_id": job_ids,
    "job_type": st.just("user_sync"),
    "stored_payload": texts | st.binary(),
    "scheduled_for": instants,
    "status": st.sampled_from(JobStatus),
    "priority": st.sampled_from(Priority),
    "max_attempts": st.integers(1, 1000),
    "created_at": instants,
    "created_by": names,
    "attempts": st.integers(0, 1000),
    "dispatches": st.integers(0, 1000),
    "due": st.none() | dues,
    "due_lane": st.none() | names,
    "wake": st.booleans(),
    "locked_by": st.none() | names,
    "locked_at": st.none() | instants,
    "lock_expires_at": st.none() | instants,
    "started_at": st.none() | instants,
    "last_attempt_at": st.none() | instants,
    "completed_at": st.none() | instants,
    "last_error": st.none() | texts,
    "last_error_code": st.none() | names,
    "result_text": st.none() | texts,
    "artifacts": st.lists(texts, max_size=3).map(tuple),
    "runs": histories,
    "cancel_requested": st.none() | names,
    "cancel_reason": st.none() | texts,
    "start_by": st.none() | instants,
    "retry_of": st.none() | job_ids,
    "dedup_until": st.none() | instants,
    "undelivered_since": st.none() | instants,
    "dedup": st.none() | st.builds(DedupRef, st.just("user_sync"), names, st.sampled_from(["-", "2026-11-15"])),
    "concurrency_key": st.none() | names,
    "seat": st.none() | names,
    "trace": st.none() | names,
    "schedule": st.none() | names,
    "template": st.none() | names,
    "retry": st.none() | retries,
    "webhook": st.none() | texts,
    "group_id": st.none() | names,
    "member": st.none() | st.integers(0, 100_000),
    "owed": st.lists(st.sampled_from(["groups", "webhooks"]), max_size=2).map(tuple),
    "expires_at": st.none() | st.integers(0, 2**40),
    "ended_lane": st.none() | names,
    "ended_key": st.none() | names,
}
jobs = st.fixed_dictionaries(JOB_FIELDS).map(_job)

LETTER_FIELDS: dict[str, st.SearchStrategy[object]] = {
    "id": job_ids,
    "original_job_id": job_ids,
    "job_type": names,
    "payload_text": texts,
    "failure_reason": texts,
    "error_code": names,
    "failed_at": instants,
    "attempts": st.integers(0, 1000),
    "max_attempts": st.none() | st.integers(1, 1000),
    "runs": histories,
    "trace": st.none() | names,
    "resolution": st.none() | st.sampled_from(Resolution),
    "resolved_by": st.none() | names,
    "resolved_at": st.none() | instants,
    "resolved_reason": st.none() | texts,
    "redriven_as": st.none() | job_ids,
    "reported_at": st.none() | instants,
}
dead_letters = st.fixed_dictionaries(LETTER_FIELDS).map(lambda values: DeadLetter(**values))  # type: ignore[arg-type]


def same(left: object, right: object) -> bool:
    """Equal and of the same type all the way down: 1, 1.0, True and Decimal(1) are not the same."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return left.as_tuple() == right.as_tuple()
    return left == right
