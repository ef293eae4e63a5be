"""Circuit breakers: the arithmetic of rates and waits, and which settings make sense."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.circuit_breaker.model import CircuitBreaker, Tally
from leasehold.kernel.errors import InvalidOptionError

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def tally(failures: int, runs: int) -> Tally:
    return Tally(since=NOW, runs=runs, failures=failures)


@pytest.mark.parametrize(
    ("failures", "runs", "opens"),
    [
        pytest.param(19, 19, False, id="too few runs to tell"),
        pytest.param(9, 20, False, id="just below the rate"),
        pytest.param(10, 20, True, id="exactly the rate"),
        pytest.param(20, 20, True, id="all of them"),
        pytest.param(499, 1000, False, id="many runs below the rate"),
    ],
)
def test_a_circuit_opens_at_the_rate_once_there_are_enough_runs(failures: int, runs: int, opens: bool):
    assert CircuitBreaker().opens_at(tally(failures, runs)) is opens


@given(st.integers(1, 100), st.integers(1, 500), st.data())
def test_a_rate_in_per_cent_is_met_exactly_where_it_is_met_on_paper(percent: int, runs: int, data: st.DataObject):
    failures = data.draw(st.integers(0, runs))
    breaker = CircuitBreaker(failure_rate=percent / 100, min_runs=1)

    assert breaker.opens_at(tally(failures, runs)) is (Fraction(failures, runs) >= Fraction(percent, 100))


def test_each_failed_probe_doubles_the_wait_up_to_the_longest():
    breaker = CircuitBreaker(probe_after=MINUTE, longest_pause=5 * MINUTE)
    waits = [breaker.probe_after]
    for _ in range(4):
        waits.append(breaker.longer(waits[-1]))

    assert waits == [MINUTE, 2 * MINUTE, 4 * MINUTE, 5 * MINUTE, 5 * MINUTE]


@pytest.mark.parametrize(
    "wrong",
    [
        {"failure_rate": 0},
        {"failure_rate": 1.01},
        {"failure_rate": True},
        {"failure_rate": "0.5"},
        {"failure_rate": float("nan")},
        {"min_runs": 0},
        {"min_runs": 2.5},
        {"min_runs": True},
        {"window": timedelta(0)},
        {"window": timedelta(days=2)},
        {"probe_after": timedelta(seconds=9)},
        {"probe_after": timedelta(days=2), "longest_pause": timedelta(days=2)},
        {"probe_after": 2 * MINUTE, "longest_pause": MINUTE},
        {"longest_pause": timedelta(days=2)},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object]):
    with pytest.raises(InvalidOptionError):
        CircuitBreaker(**wrong)  # type: ignore[arg-type]
