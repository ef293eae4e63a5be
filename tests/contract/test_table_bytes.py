"""Bytes are an attribute like others: kept as they are, compared, replaced by text and back."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.table import JOBS, ConditionFailed, Equals, Key, OneOf, Put, Update

if TYPE_CHECKING:
    from leasehold.kernel.table import Table

KEY = Key(JOBS, ("p", "s"))
DATA = zlib.compress(bytes(range(256)) * 4)


def test_bytes_come_back_from_every_kind_of_read(table: Table) -> None:
    assert table.write(Put(key=KEY, record={"payload": DATA}))["payload"] == DATA

    expected = {**KEY.attributes, "payload": DATA}
    assert table.get(KEY) == expected
    assert table.get_many([KEY]) == [expected]
    assert table.query(JOBS, "p", limit=5).records == [expected]


def test_a_condition_on_bytes_holds_for_the_same_bytes_only(table: Table) -> None:
    table.write(Put(key=KEY, record={"payload": DATA}))

    with pytest.raises(ConditionFailed) as failed:
        table.write(Update(key=KEY, conditions=(Equals("payload", DATA + b"\x00"),), sets={"payload": "text"}))

    assert failed.value.current is not None
    assert failed.value.current["payload"] == DATA
    assert table.write(Update(key=KEY, conditions=(Equals("payload", DATA),), sets={"payload": "text"}))
    with pytest.raises(ConditionFailed):
        table.write(Update(key=KEY, conditions=(OneOf("payload", (DATA,)),), sets={"payload": b"other"}))


def test_text_is_not_taken_for_the_bytes_that_spell_it(table: Table) -> None:
    table.write(Put(key=KEY, record={"payload": "abc"}))

    with pytest.raises(ConditionFailed):
        table.write(Update(key=KEY, conditions=(Equals("payload", b"abc"),), sets={"seen": True}))


def test_bytes_go_through_inserts_and_transactions(table: Table) -> None:
    other = Key(JOBS, ("p", "t"))

    assert table.insert_many([Put(key=KEY, record={"payload": DATA})]) == [None]
    table.transact([Put(key=other, record={"payload": DATA})], token="bytes")

    assert [each["payload"] for each in table.query(JOBS, "p", limit=5).records] == [DATA, DATA]
