"""Limits: which ones a job counts against, and the places that its claim takes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.job_type import JobType
from leasehold.kernel.registry import Registry
from leasehold.kernel.type_options import type_scope
from leasehold.limits.model import DeployedLimits, Places, Rate, type_of_scope
from tests.strategies import names

FULL = JobType(
    name="render",
    concurrency=4,
    concurrency_per_key=1,
    rate=Rate(10, timedelta(minutes=1)),
    rate_per_key=Rate(2, timedelta(seconds=1)),
    resources=("gpu",),
)
REGISTRY = Registry(types={"render": FULL}, concurrency=50, resources={"gpu": 2})


def test_a_job_counts_against_the_wide_limits_first():
    limits = DeployedLimits().limits_of(FULL, "acme", REGISTRY)

    assert [(each.scope, each.seats, each.period) for each in limits] == [
        ("all", 50, None),
        ("resource:gpu", 2, None),
        ("type:render", 4, None),
        ("rate:render", 10, timedelta(minutes=1)),
        ("key:render:acme", 1, None),
        ("rate:render:acme", 2, timedelta(seconds=1)),
    ]
    assert [each.is_own for each in limits] == [False, False, True, True, True, True]


def test_a_job_without_a_key_is_not_counted_by_key():
    scopes = [each.scope for each in DeployedLimits().limits_of(FULL, None, REGISTRY)]

    assert scopes == ["all", "resource:gpu", "type:render", "rate:render"]


def test_a_type_without_limits_has_none():
    plain = JobType(name="plain")

    assert DeployedLimits().limits_of(plain, "acme", Registry(types={"plain": plain})) == ()


@given(st.lists(st.tuples(names, st.integers(0, 998)), max_size=6).map(tuple), st.text(max_size=30))
def test_places_survive_their_text_whatever_the_claim_is_called(seats, taken_by):
    places = Places(taken_by, seats)

    assert Places.parse(places.text) == places


def test_only_a_type_s_own_scope_is_its_scope():
    assert type_of_scope(type_scope("render")) == "render"
    assert type_of_scope("key:render:acme") is None


@pytest.mark.parametrize("options", [(0, timedelta(minutes=1)), (1000, timedelta(minutes=1)), (True, timedelta(1))])
def test_a_rate_has_as_many_starts_as_one_read_can_see(options):
    with pytest.raises(InvalidOptionError, match="from 1 to 999"):
        Rate(*options)


@pytest.mark.parametrize("per", [timedelta(0), timedelta(days=2)])
def test_a_rate_counts_over_a_second_to_a_day(per):
    with pytest.raises(InvalidOptionError, match="1 second to 1 day"):
        Rate(1, per)


def test_a_type_cannot_be_deployed_without_the_resource_that_it_needs():
    with pytest.raises(InvalidOptionError, match="render needs a resource that is not there"):
        Registry(types={"render": FULL}, resources={"licence": 1})


@pytest.mark.parametrize("seats", [0, 1000])
def test_a_shared_limit_has_as_many_seats_as_one_read_can_see(seats):
    with pytest.raises(InvalidOptionError, match="from 1 to 999"):
        Registry(types={}, concurrency=seats)
    with pytest.raises(InvalidOptionError, match="resource gpu is a whole number from 1 to 999"):
        Registry(types={}, resources={"gpu": seats})
