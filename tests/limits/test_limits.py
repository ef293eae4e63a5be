"""What waiting for limits costs, in cases of moderate size; `make limits` measures them as the page shows them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.kernel.job_type import JobType
from tests.limits import cases
from tests.limits.oracle import Lane, Oracle
from tests.limits.virtual_queue import VirtualQueue, works

if TYPE_CHECKING:
    from collections.abc import Callable


def assert_bounds(measures: list[cases.Measure]) -> None:
    broken = [str(each) for each in measures if not each.holds]
    assert not broken, "\n".join(map(str, measures))


# At the sizes that the bounds are given for: with fewer jobs, beginning and ending to wait is most of what it costs.
@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(cases.stage_and_type, id="stage and type"),
        *(
            pytest.param(case, id=name, marks=pytest.mark.deep)
            for name, case in {
                "concurrency and rate": cases.concurrency_and_rate,
                "type and key": cases.type_and_key,
                "short, rate": partial(cases.concurrency_and_rate_short, seconds=60.0),
                "short, stage": partial(cases.stage_and_type_short, seconds=60.0),
                "short, key": partial(cases.type_and_key_short, seconds=60.0),
            }.items()
        ),
    ],
)
def test_jobs_that_wait_for_two_limits_are_not_moved_to_and_fro(case: Callable[..., Any]) -> None:
    assert_bounds(case())


# In `make test` with one poller, or with one key; with many of both in `make test-deep`.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "pollers"),
    [
        pytest.param(cases.unpause_one_key, 1, marks=pytest.mark.deep),
        (cases.unpause_one_key, 3),
        (cases.unpause_many_keys, 1),
        pytest.param(cases.unpause_many_keys, 3, marks=pytest.mark.deep),
    ],
)
def test_a_pause_that_ends_keeps_no_job_of_another_type_waiting(case: Callable[..., Any], pollers: int) -> None:
    assert_bounds(case(jobs=1000, pollers=pollers))


@pytest.mark.slow
def test_keys_that_are_blocked_for_long_cost_the_poller_little_and_go_on_when_they_are_free() -> None:
    assert_bounds(cases.blocked_keys(keys=300, minutes=30))


@pytest.mark.slow
def test_a_tenant_with_ten_jobs_does_not_wait_for_a_tenant_with_a_thousand() -> None:
    assert_bounds(cases.big_and_small_tenant(jobs=1000))


@pytest.mark.slow
def test_many_tenants_with_one_job_each_use_every_seat() -> None:
    assert_bounds(cases.many_tenants(tenants=200))


@pytest.mark.slow
def test_a_type_that_needs_two_scopes_gets_its_share() -> None:
    assert_bounds(cases.two_scopes(others=50, seconds=300.0))


def test_the_oracle_keeps_to_limits_and_rates() -> None:
    assert Oracle({"type": 2}, 5.0).ends([Lane(jobs=4, scopes=("type",))]) == [5.0, 5.0, 10.0, 10.0]
    rated = Lane(jobs=3, scopes=("type",), rates=(("rate", 60.0),))
    assert Oracle({"type": 5, "rate": 2}, 5.0).ends([rated]) == [5.0, 5.0, 65.0]
    both = [Lane(jobs=2, scopes=("all", "a")), Lane(jobs=2, scopes=("all",))]
    assert Oracle({"all": 2, "a": 1}, 5.0).ends(both) == [5.0, 5.0, 10.0, 10.0]


def test_the_same_case_is_lived_the_same_way_twice_and_calls_take_their_time() -> None:
    def live() -> tuple[list[float], dict[str, int]]:
        virtual = VirtualQueue([JobType(name="report", concurrency=2)])
        try:
            virtual.queue.enqueue_many(works(6, "report", seconds=3.0))
            virtual.begin()
            virtual.run(60.0, until=lambda: len(virtual.figures.ended) == 6)
            return virtual.figures.ended, dict(virtual.figures.writes)
        finally:
            virtual.close()

    ended, writes = live()
    assert (ended, writes) == live()
    assert len(ended) == 6
    # Three rounds of three seconds, with a wake of a quarter of a second between two of them.
    assert 9.0 < ended[-1] < 12.0
