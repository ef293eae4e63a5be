"""What is deployed for one kind of job."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from leasehold.kernel.errors import InvalidJobTypeError, InvalidOptionError, UnknownJobTypeError
from leasehold.kernel.job_type import JobType, parse_job_type
from leasehold.kernel.registry import Registry
from leasehold.kernel.retry import Exponential


def test_the_defaults_are_those_of_seed_000():
    job_type = JobType(name="daily_summary")

    assert job_type.max_attempts == 5
    assert isinstance(job_type.retry, Exponential)
    assert job_type.retry.base == timedelta(seconds=60)


def test_a_lease_lasts_as_long_as_the_platform_could_need():
    job_type = JobType(name="x", timeout=timedelta(seconds=30), max_event_age=timedelta(seconds=40))

    assert job_type.lease_length == job_type.full_lease == timedelta(seconds=75)


def test_a_shorter_lease_needs_a_heartbeat():
    short = timedelta(seconds=15)

    assert JobType(name="x", lease=short, heartbeat=True).lease_length == short
    with pytest.raises(InvalidOptionError, match=r"x: a lease shorter than .* needs a heartbeat"):
        JobType(name="x", lease=short)


@pytest.mark.parametrize("name", ["a", "a1_b", "x" * 64])
def test_a_job_type_is_a_name_that_fits_into_keys_and_folders(name):
    assert parse_job_type(name) == name


@pytest.mark.parametrize("name", ["", "x" * 65, "Upper", "1st", "_x", "a-b", "a#b", "a b", "ä", "a\n", None, 7])
def test_any_other_name_is_refused(name):
    with pytest.raises(InvalidJobTypeError, match=r"starting with a letter: got .* Use a name like"):
        parse_job_type(name)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"timeout": timedelta(0)}, "timeout and event age must be positive"),
        ({"max_event_age": timedelta(seconds=-1)}, "timeout and event age must be positive"),
        ({"max_attempts": 0}, "max_attempts is at least 1"),
        ({"concurrency": 0}, "concurrency is a whole number from 1 to 999"),
        ({"lease": timedelta(seconds=14), "heartbeat": True}, "a lease is at least 0:00:15"),
    ],
)
def test_settings_that_make_no_sense_are_refused_with_the_type_s_name(options: dict[str, Any], reason):
    with pytest.raises(InvalidOptionError, match=f"daily_summary: {reason}"):
        JobType(name="daily_summary", **options)


def test_a_registry_knows_its_types_and_names_them_to_who_asks_for_another():
    registry = Registry(types={name: JobType(name=name) for name in ("user_sync", "daily_summary")})

    assert registry.job_type("user_sync").name == "user_sync"
    with pytest.raises(UnknownJobTypeError) as refused:
        registry.job_type("usersync")
    assert "got 'usersync'" in str(refused.value)
    assert "Deployed types: daily_summary, user_sync." in str(refused.value)


@pytest.mark.parametrize("shards", [0, 257])
def test_the_number_of_shards_is_what_an_id_can_name(shards):
    with pytest.raises(InvalidOptionError, match=f"shards are 1 to 256: got {shards}"):
        Registry(types={}, shards=shards)
