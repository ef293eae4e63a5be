"""What goes into a payload comes out of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given

from leasehold.kernel.payload import decode, encode, encode_payload, encode_result
from tests.strategies import json_values, same


@given(json_values)
def test_every_accepted_value_comes_back_as_what_it_was(value):
    assert same(decode(encode(value)), value)


@given(json_values)
def test_what_is_stored_is_json_that_any_reader_takes(value):
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    json.loads(encode(value).encode(), parse_constant=refuse)


@pytest.mark.parametrize(
    "lookalike",
    [
        {"$datetime": 1},
        {"$datetime": "2026-01-01T00:00:00+00:00"},
        {"$decimal": "1.10"},
        {"$escaped": {"$datetime": None}},
        {"$escaped": {"$escaped": {"$decimal": "1"}}},
        {"$datetime": {"$decimal": Decimal("1.0")}},
        {"$datetime": "2026-01-01T00:00:00+00:00", "other": 1},
        [{"$decimal": []}],
    ],
)
def test_an_object_that_looks_like_one_of_ours_stays_the_caller_s(lookalike):
    assert same(decode(encode({"value": lookalike})), {"value": lookalike})
    assert same(decode(encode(lookalike)), lookalike)


@pytest.mark.parametrize("fold", [0, 1])
def test_a_datetime_of_a_zone_comes_back_at_the_same_moment_with_the_same_offset(fold):
    autumn = datetime(2026, 10, 25, 2, 30, 0, 123456, tzinfo=ZoneInfo("Europe/Berlin"), fold=fold)

    restored = decode(encode(autumn))

    assert isinstance(restored, datetime)
    assert restored.utcoffset() == autumn.utcoffset()
    assert restored.astimezone(UTC) == autumn.astimezone(UTC)


@pytest.mark.parametrize("number", ["0", "-0", "1.10", "1E+400", "1E-400", "123456789012345678901234567890.5"])
def test_a_decimal_keeps_every_digit(number):
    assert str(decode(encode(Decimal(number)))) == number


def test_text_is_stored_as_it_is_so_that_its_size_is_what_it_looks_like():
    assert encode({"name": "Ünïcode 🦊"}) == '{"name":"Ünïcode 🦊"}'


def test_a_whole_number_of_four_thousand_digits_is_the_longest():
    long = 10**4000

    assert decode(encode(long)) == long


def test_sixty_four_levels_are_the_deepest():
    nested: object = "core"
    for _ in range(64):
        nested = [nested]

    assert decode(encode(nested)) == nested


def test_a_payload_may_be_as_large_as_its_limit_counted_in_bytes():
    fits = "ü" * (100 * 1024 - 1)

    assert len(encode_payload(fits).encode()) == 200 * 1024
    assert len(encode_result("x" * (64 * 1024 - 2)).encode()) == 64 * 1024
