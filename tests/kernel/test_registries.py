"""The registry item says all that is deployed."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.batches.model import LARGEST_BATCH, LONGEST_BATCH_WAIT, SMALLEST_BATCH, Batch
from leasehold.circuit_breaker.model import CircuitBreaker
from leasehold.kernel.dynamodb.expressions import from_item, to_item
from leasehold.kernel.job_type import JobType
from leasehold.kernel.keys import MAX_SHARDS, SYSTEM_CODE, Priority
from leasehold.kernel.registry import Registry
from leasehold.kernel.registry_records import registry_of, registry_record
from leasehold.kernel.retry import MAX_DELAY, Delays, Exponential, Fixed
from leasehold.kernel.trust import has_code
from leasehold.kernel.type_options import MAX_SEATS, OnFull, Retention
from leasehold.limits.model import Rate
from leasehold.webhooks.address import RunEvent, Webhook
from tests.strategies import names

seconds = st.integers(1, 10_000).map(lambda value: timedelta(seconds=value))
delays = st.integers(0, 100_000).map(lambda value: timedelta(milliseconds=value))
policies = (
    st.builds(Exponential, base=seconds, cap=st.just(MAX_DELAY), jitter=st.floats(0, 1))
    | st.builds(Fixed, delays)
    | st.builds(Delays, st.lists(delays, min_size=1, max_size=4).map(tuple))
)
rates = st.builds(Rate, st.integers(1, MAX_SEATS), seconds)
batch_waits = st.integers(1, int(LONGEST_BATCH_WAIT.total_seconds())).map(lambda value: timedelta(seconds=value))
breakers = st.builds(
    CircuitBreaker,
    failure_rate=st.floats(0, 1, exclude_min=True),
    min_runs=st.integers(1, 1000),
    window=seconds,
    probe_after=st.integers(10, 1000).map(lambda value: timedelta(seconds=value)),
    longest_pause=st.integers(1000, 86400).map(lambda value: timedelta(seconds=value)),
)
batches = st.builds(Batch, size=st.integers(SMALLEST_BATCH, LARGEST_BATCH), wait=st.just(timedelta(0)) | batch_waits)
events = st.lists(st.sampled_from(RunEvent), min_size=1, unique=True).map(tuple)
resources = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True)
TYPE_FIELDS: dict[str, st.SearchStrategy[object]] = {
    "name": st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True),
    "code": st.integers(1, SYSTEM_CODE - 1),
    "timeout": seconds,
    "max_event_age": seconds,
    "lease": st.none() | st.integers(15, 900).map(lambda value: timedelta(seconds=value)),
    "heartbeat": st.just(True),
    "concurrency": st.none() | st.integers(1, 100),
    "concurrency_per_key": st.none() | st.integers(1, 100),
    "rate": st.none() | rates,
    "rate_per_key": st.none() | rates,
    "resources": st.lists(resources, max_size=2).map(tuple),
    "weight": st.integers(1, MAX_SEATS),
    "weights": st.dictionaries(names, st.integers(1, MAX_SEATS), max_size=2),
    "on_full": st.sampled_from(OnFull),
    "batch": st.none() | batches,
    "breaker": st.none() | breakers,
    "priority": st.sampled_from(Priority),
    "max_attempts": st.integers(1, 1000),
    "retry": policies,
    "webhook": st.none() | st.builds(Webhook, url=st.none() | st.just("https://a.example/b"), events=events),
    "retention": st.builds(Retention, completed=seconds, cancelled=seconds, dead_letter=seconds),
    "audit_creation": st.booleans(),
    "check_payload": st.booleans(),
    "schema": st.none() | names,
    "logs": st.none() | names,
    "function": st.none() | names,
    "reported_fields": st.lists(names, max_size=3).map(tuple),
}
job_types = st.fixed_dictionaries(TYPE_FIELDS).map(lambda values: JobType(**values))  # type: ignore[arg-type]


def test_the_strategy_draws_every_setting():
    assert set(TYPE_FIELDS) == {field.name for field in fields(JobType)}


@given(
    st.lists(job_types, max_size=4, unique_by=lambda each: each.code),
    st.integers(1, MAX_SHARDS),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.none() | st.integers(1, MAX_SEATS),
    st.dictionaries(resources, st.integers(1, MAX_SEATS), max_size=3),
)
def test_a_registry_survives_its_record_and_its_item(types, shards, switches, concurrency, shared):
    registry = Registry(
        types={each.name: each for each in types},
        shards=shards,
        isolate_types=switches[0],
        ended_index=switches[1],
        require_reasons=switches[2],
        concurrency=concurrency,
        resources=shared | dict.fromkeys((name for each in types for name in each.resources), 1),
    )

    assert registry_of(from_item(to_item(registry_record(registry)))) == registry


def test_a_type_without_a_heartbeat_keeps_its_defaults():
    registry = Registry(types={"user_sync": JobType(name="user_sync")})

    assert registry_of(registry_record(registry)) == registry


def test_a_hundred_types_fit_into_one_item():
    types = {f"type_{number:03d}": JobType(name=f"type_{number:03d}", function="f" * 64) for number in range(100)}
    record = registry_record(Registry(types=types))

    assert isinstance(record["types"], str)
    assert len(record["types"]) < 100 * 400


def test_a_policy_of_a_newer_version_is_not_guessed():
    values = '"code":1,"timeout":1,"max_event_age":1,"priority":1,"max_attempts":1,"retry":{"moon":1}'
    document = f'{{"x": {{{values},"retention":[1,1,1]}}}}'

    with pytest.raises(ValueError, match="unknown retry policy"):
        registry_of({"shards": 1, "isolate_types": True, "ended_index": True, "types": document})


def test_a_registry_has_the_codes_of_its_types_and_the_system_s_own():
    registry = Registry(
        types={name: JobType(name=name, code=code) for name, code in (("one", 0x1001), ("two", 0x1002))}
    )

    assert [has_code(registry, code) for code in (0, 0x1001, 0x1002, 0x1003, SYSTEM_CODE)] == [
        *(True, True, True, False),
        True,
    ]


@pytest.mark.parametrize("lost", ["types", "shards", "isolate_types", "ended_index"])
def test_a_registry_without_what_tells_where_jobs_are_is_not_guessed(lost):
    """With one shard in the place of four, three quarters of all jobs would not be found."""
    record = registry_record(Registry(types={}, shards=4))
    del record[lost]
    with pytest.raises(KeyError, match=lost):
        registry_of(record)
