"""The table port: when two values are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.table import JOBS, ConditionFailed, Delete, Equals, Key, OneOf, Put
from tests.contract.engines import without_moto

if TYPE_CHECKING:
    from leasehold.kernel.table import Attribute, Table

KEY = Key(JOBS, ("things", "one"))


@without_moto  # to which True is 1, as it is to Python
@pytest.mark.parametrize(("stored", "seen"), [(1, True), (False, 0), ([1], [True]), ({"a": [0]}, {"a": [False]})])
def test_a_number_is_no_truth_value(table: Table, stored: Attribute, seen: Attribute) -> None:
    table.write(Put(key=KEY, record={"flag": stored}))

    for condition in (Equals("flag", seen), OneOf("flag", (seen,))):
        with pytest.raises(ConditionFailed):
            table.write(Delete(key=KEY, conditions=(condition,)))
    table.write(Delete(key=KEY, conditions=(Equals("flag", stored), OneOf("flag", (stored,)))))
