"""When to try again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.keys import to_text
from leasehold.kernel.retry import (
    MAX_DELAY,
    MAX_DELAYS,
    Delays,
    Exponential,
    Fixed,
    hand_over_backoff,
    parse_retry,
    retry_delay,
    retry_of_text,
    retry_text,
)

NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
shares = st.floats(0, 1, exclude_max=True)


def seconds(*values: float) -> tuple[timedelta, ...]:
    return tuple(timedelta(seconds=value) for value in values)


def test_the_default_is_the_formula_of_seed_000():
    default = Exponential()

    assert default.base == timedelta(seconds=60)
    for attempts in range(1, 6):
        assert retry_delay(default, attempts, 0.0) == default.base * 2 ** (attempts - 1)
    assert NOW + retry_delay(default, 3, 0.0) == NOW + timedelta(seconds=240)


@given(st.integers(1, 10_000), shares)
def test_an_exponential_delay_stays_between_its_formula_and_its_jitter(attempts, random_source):
    policy = Exponential(base=timedelta(seconds=7), cap=timedelta(hours=3), jitter=0.25)
    exact = min(7 * 2 ** (attempts - 1), 3 * 3600)

    delay = retry_delay(policy, attempts, random_source).total_seconds()

    assert exact <= delay <= exact * 1.25 + 1e-6


def test_jitter_grows_with_random_source_and_can_be_switched_off():
    assert retry_delay(Exponential(jitter=0.5), 1, 0.5) == timedelta(seconds=75)
    assert retry_delay(Exponential(jitter=0), 1, 0.999) == timedelta(seconds=60)


@pytest.mark.parametrize("attempts", [41, 42, 64, 65, 1000, 10**9])
def test_a_late_attempt_waits_for_the_cap(attempts):
    assert retry_delay(Exponential(jitter=0), attempts, 0.0) == timedelta(hours=6)
    assert retry_delay(Exponential(timedelta(microseconds=1), MAX_DELAY, 0), attempts, 0.0) <= MAX_DELAY


@pytest.mark.parametrize(
    ("policy", "waits"),
    [
        pytest.param(Delays(seconds(30, 60)), [30, 60, 60], id="seed 002: at once, +30 s, +60 s"),
        pytest.param(Delays(seconds(30, 300)), [30, 300, 300], id="seed 004: at once, +30 s, +5 min"),
        pytest.param(Delays(seconds(0, 30, 300)), [0, 30, 300], id="a retry at once is a delay of nothing"),
        pytest.param(Fixed(timedelta(minutes=1)), [60, 60, 60], id="seed 001: every minute"),
        pytest.param(Exponential(timedelta(seconds=10), jitter=0), [10, 20, 40], id="seed 003: 10, 20, 40 s"),
    ],
)
def test_the_tables_of_the_seeds_can_be_said(policy, waits):
    assert [retry_delay(policy, attempts, 0.9).total_seconds() for attempts in (1, 2, 3)] == waits


@given(st.integers(1, 10_000), shares)
def test_a_hand_over_that_reached_nobody_backs_off_from_a_second_to_minutes(dispatches, random_source):
    delay = hand_over_backoff(dispatches, random_source)

    assert timedelta(seconds=1) <= delay <= timedelta(minutes=5) * 1.5
    assert hand_over_backoff(0, 0.0) == hand_over_backoff(1, 0.0) == timedelta(seconds=1)


LONGEST = (Exponential(MAX_DELAY, MAX_DELAY, 1.0), Fixed(MAX_DELAY), Delays((MAX_DELAY,)))


@pytest.mark.parametrize("policy", LONGEST)
def test_the_longest_delay_is_still_a_time_that_a_due_key_can_hold(policy):
    assert to_text(NOW + retry_delay(policy, 1000, 0.999)) < "2029"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Exponential(base=timedelta(0)),
        lambda: Exponential(base=timedelta(seconds=2), cap=timedelta(seconds=1)),
        lambda: Exponential(jitter=-0.1),
        lambda: Exponential(jitter=1.1),
        lambda: Exponential(cap=MAX_DELAY + timedelta(seconds=1)),
        lambda: Fixed(timedelta(seconds=-1)),
        lambda: Fixed(timedelta.max),
        lambda: Delays(()),
        lambda: Delays(seconds(1, -1)),
        lambda: Delays((timedelta.max,)),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(make):
    with pytest.raises(InvalidOptionError):
        make()


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (Exponential(jitter=1), Exponential(jitter=1.0)),
        (Fixed(timedelta(0)), Fixed(timedelta(0))),
        (Delays(list(seconds(1) * MAX_DELAYS)), Delays(seconds(1) * MAX_DELAYS)),  # type: ignore[arg-type]
    ],
)
def test_a_job_s_own_policy_is_kept_as_it_will_be_read_back(said, kept):
    assert retry_of_text(retry_text(parse_retry(said))) == parse_retry(said) == kept


@pytest.mark.parametrize("value", [None, 30, timedelta(seconds=30), "fixed", Fixed, Delays(seconds(1) * 51)])
def test_what_is_no_policy_of_a_job_is_refused(value):
    with pytest.raises(InvalidOptionError):
        parse_retry(value)
