"""Positions: between any two there is room for one more, however often."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leasehold.kernel.keys import Due, position_at
from leasehold.kernel.lanes import numbered
from leasehold.operate.order import MAX_POSITION_LENGTH, between

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
NOW = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
LOW, HIGH = position_at(NOW), position_at(NOW + timedelta(milliseconds=1))

digits = st.text(DIGITS, max_size=20)
positions = st.text(DIGITS, min_size=1, max_size=40)


def key(position: str, job_id: str = "01a1de8a-c9c0-8000-8000-000000000007") -> str:
    return Due(NOW, position, job_id).key


@given(positions, positions, digits)
def test_what_is_put_between_two_sorts_between_them_whatever_stands_behind_it(one, other, stamp):
    low, high = sorted([one, other])
    # Noughts at the end do not make another fraction.
    assume(low.rstrip("0") != high.rstrip("0"))

    put = between(low, high)

    assert put is not None
    assert low < put + stamp < high
    assert key(low) < key(put + stamp) < key(high)


@given(positions, digits)
def test_before_the_first_there_is_always_room(high, stamp):
    assume(high.strip("0"))

    put = between(None, high)

    assert put is not None
    assert key(put + stamp) < key(high)


@given(digits, digits)
def test_what_is_put_after_the_last_comes_before_all_that_is_made_a_millisecond_later(end, stamp):
    low = LOW + end.rstrip("z")

    put = between(low, None)

    assert put is not None
    assert key(low) < key(put + stamp) < key(HIGH)


@given(st.integers(1, 2_000_000), st.integers(1, 2_000_000))
def test_what_is_made_in_one_call_keeps_its_order_within_the_millisecond(one, other):
    first, second = (numbered(LOW, number) for number in sorted([one, other]))

    assert LOW < first <= second < HIGH
    assert (first == second) == (one == other or min(one, other) >= 36**4 - 1)


def test_a_position_sorts_before_those_that_it_is_the_beginning_of():
    assert key("0b") < key("0b0") < key("0b1") < key("0c")


def moved(count: int, course: str) -> int:
    """Move so many jobs between the same two, each next to the one before it, and return the greatest length."""
    random_source = random.Random(course)
    low, high, longest = LOW, HIGH, 0
    for number in range(count):
        put = between(low, high)
        assert put is not None, f"no room left after {number} moves"
        put += f"{random_source.getrandbits(32):08x}"
        assert low < put < high
        longest = max(longest, len(put))
        if course == "up" or (course == "to and fro" and number % 2):
            low = put
        else:
            high = put
    return longest


@pytest.mark.parametrize("course", ["up", "down"])
def test_a_thousand_moves_between_the_same_two_stay_within_32_digits_and_ten_thousand_within_the_bound(course):
    lengths = moved(1_000, course), moved(10_000, course)

    print(f"\n{course}: {lengths}")
    assert lengths[0] <= 32
    assert lengths[1] <= MAX_POSITION_LENGTH


def test_250_moves_to_and_fro_stay_within_the_bound():
    assert moved(250, "to and fro") <= MAX_POSITION_LENGTH


def test_where_there_is_no_room_left_nothing_is_put():
    assert between("a", "a0") is None
    assert between(None, "000000000") is None
    assert between("a" * MAX_POSITION_LENGTH, "a" * MAX_POSITION_LENGTH + "1") is None
