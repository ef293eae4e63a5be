"""docs/cost.md states what tests/cost measures."""

from __future__ import annotations

import re

from tests.cost.test_write_units import LIVES, own_units
from tests.docs.markdown import text_of

PLAIN = own_units("plain")


def rows() -> dict[str, tuple[int, int]]:
    found = re.findall(r"^\| ([^|]+) \| (\d+) \| (-?\d*) ?\|$", text_of("docs/cost.md"), re.MULTILINE)
    return {name: (int(units), int(more or 0)) for name, units, more in found}


def test_every_life_that_is_measured_stands_on_the_page_with_its_units() -> None:
    stated = {name: units for name, (units, _) in rows().items() if name in LIVES}

    assert stated == {name: own_units(name) for name in LIVES}


def test_what_a_row_says_is_more_than_plain_is_that() -> None:
    assert [name for name, (units, more) in rows().items() if name in LIVES and units - PLAIN != more] == []
