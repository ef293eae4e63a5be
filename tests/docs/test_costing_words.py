"""Dollars, quantities and prices are written as people write them."""

from __future__ import annotations

import pytest

from docs.costing import prices
from docs.costing.written import dollars, quantity, table

PRICES = prices.load()


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "$0"), (0.004, "< $0.01"), (0.42, "$0.42"), (17.3, "$17.30"), (1234.5, "$1,234")]
)
def test_dollars_are_written_as_people_write_them(amount: float, text: str) -> None:
    assert dollars(amount) == text


def test_quantities_are_written_short() -> None:
    assert [quantity(each) for each in (0, 12, 43_200, 23_328_000, 2.3e9)] == ["0", "12", "43.2 k", "23.3 M", "2.3 G"]


def test_a_price_is_written_with_what_it_is_for() -> None:
    assert PRICES["dynamodb_write"].written() == "$0.625 a million"
    assert PRICES["lambda_duration"].written() == "$0.0000133334 a GB-second"
    assert PRICES["dashboard"].written() == "$3.00 a dashboard"


def test_a_table_has_a_row_for_each() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
