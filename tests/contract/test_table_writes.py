"""The table port: one change at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from leasehold.kernel.table import (
    DEAD_LETTERS,
    JOBS,
    Above,
    After,
    AnyOf,
    ConditionFailed,
    Delete,
    Equals,
    Exists,
    Key,
    Missing,
    NotAfter,
    OneOf,
    Put,
    Update,
)

if TYPE_CHECKING:
    from leasehold.kernel.table import Attribute, Condition, Record, Table

KEY = Key(JOBS, ("things", "one"))
KEYS: Record = {"PK": "things", "SK": "one"}
STORED: Record = {"color": "red", "at": "2026-01-02", "count": 3, "flag": True, "tags": ["a", {"b": 1}]}


def put(table: Table, key: Key = KEY) -> None:
    table.write(Put(key=key, record=STORED))


def test_a_record_comes_back_as_it_was_put(table: Table) -> None:
    assert table.write(Put(key=KEY, record=STORED)) == {**KEYS, **STORED}
    assert table.get(KEY) == {**KEYS, **STORED}


def test_a_record_that_was_never_put_is_none(table: Table) -> None:
    assert table.get(KEY) is None


def test_a_put_does_not_replace_what_is_there(table: Table) -> None:
    put(table)

    with pytest.raises(ConditionFailed) as failed:
        table.write(Put(key=KEY, record={"color": "blue"}))

    assert failed.value.current == {**KEYS, **STORED}
    assert table.get(KEY) == {**KEYS, **STORED}


def test_a_put_without_conditions_replaces_the_whole_record(table: Table) -> None:
    put(table)

    table.write(Put(key=KEY, record={"size": 1}, conditions=()))

    assert table.get(KEY) == {**KEYS, "size": 1}


def test_a_put_with_a_condition_replaces_only_what_was_seen(table: Table) -> None:
    put(table)

    with pytest.raises(ConditionFailed):
        table.write(Put(key=KEY, record={}, conditions=(Equals("color", "blue"),)))
    table.write(Put(key=KEY, record={"color": "green"}, conditions=(Equals("color", "red"),)))

    assert table.get(KEY) == {**KEYS, "color": "green"}


HOLDING: list[Condition] = [
    Exists("color"),
    Missing("absent"),
    Equals("color", "red"),
    Equals("count", 3),
    Equals("flag", True),
    OneOf("color", ("blue", "red")),
    After("at", "2026-01-01"),
    NotAfter("at", "2026-01-02"),
    NotAfter("at", "2026-01-03"),
    Above("count", 2),
    AnyOf((Equals("color", "blue"), Missing("absent"))),
    AnyOf((After("absent", "2026-01-01"), NotAfter("at", "2026-01-02"))),
]
FAILING: list[Condition] = [
    Exists("absent"),
    Missing("color"),
    Equals("color", "blue"),
    Equals("count", 4),
    Equals("flag", False),
    OneOf("color", ("blue", "green")),
    After("at", "2026-01-02"),
    NotAfter("at", "2026-01-01"),
    Above("count", 3),
    AnyOf((Equals("color", "blue"), Exists("absent"))),
    # A comparison with what is not there is false, whichever way it goes.
    Equals("absent", "red"),
    OneOf("absent", ("red",)),
    After("absent", "2026-01-01"),
    NotAfter("absent", "2026-01-01"),
    Above("absent", 0),
    AnyOf((After("absent", "2026-01-01"), NotAfter("absent", "2026-01-01"))),
]


@pytest.mark.parametrize("condition", HOLDING, ids=str)
def test_a_condition_that_holds_lets_the_write_through(table: Table, condition: Condition) -> None:
    put(table)

    after = table.write(Update(key=KEY, conditions=(Exists("PK"), condition), sets={"mark": 1}))

    assert after == table.get(KEY) == {**KEYS, **STORED, "mark": 1}


@pytest.mark.parametrize("condition", FAILING, ids=str)
def test_a_condition_that_fails_changes_nothing_and_tells_what_is_there(table: Table, condition: Condition) -> None:
    put(table)

    with pytest.raises(ConditionFailed) as failed:
        table.write(Update(key=KEY, conditions=(Exists("PK"), condition), sets={"mark": 1}))

    assert failed.value.current == table.get(KEY) == {**KEYS, **STORED}


def test_a_condition_that_fails_on_nothing_tells_that_nothing_is_there(table: Table) -> None:
    with pytest.raises(ConditionFailed) as failed:
        table.write(Update(key=KEY, conditions=(Equals("color", "red"),), sets={"mark": 1}))

    assert failed.value.current is None
    assert table.get(KEY) is None


def test_an_update_sets_adds_and_removes_at_once(table: Table) -> None:
    put(table)
    change = Update(
        key=KEY,
        conditions=(Equals("color", "red"),),
        sets={"color": "blue", "tags": []},
        adds={"count": -1, "fresh": 2},
        removes=frozenset({"at", "never-there"}),
    )

    after = table.write(change)

    assert after == table.get(KEY) == {**KEYS, "color": "blue", "count": 2, "fresh": 2, "flag": True, "tags": []}


def test_an_update_without_conditions_makes_the_record_and_adds_from_nothing(table: Table) -> None:
    table.write(Update(key=KEY, conditions=(), adds={"count": 5}))

    assert table.get(KEY) == {**KEYS, "count": 5}


def test_a_delete_returns_what_it_took_away(table: Table) -> None:
    put(table)

    assert table.write(Delete(key=KEY, conditions=(Exists("PK"),))) == {**KEYS, **STORED}
    assert table.get(KEY) is None


def test_a_delete_whose_condition_fails_takes_nothing_away(table: Table) -> None:
    put(table)

    with pytest.raises(ConditionFailed) as failed:
        table.write(Delete(key=KEY, conditions=(Equals("color", "blue"),)))

    assert failed.value.current == table.get(KEY) == {**KEYS, **STORED}


def test_a_delete_of_nothing_without_conditions_returns_nothing(table: Table) -> None:
    assert table.write(Delete(key=KEY, conditions=())) == {}


def test_the_two_tables_keep_their_records_apart(table: Table) -> None:
    dead_letter = Key(DEAD_LETTERS, ("one",))
    put(table, dead_letter)

    assert table.get(dead_letter) == {"id": "one", **STORED}
    assert table.get(Key(JOBS, ("one", "one"))) is None


def test_a_record_that_was_handed_out_is_the_callers_own(table: Table) -> None:
    put(table)
    first = table.get(KEY)
    assert first is not None

    cast("list[Attribute]", first["tags"]).append("changed")

    assert table.get(KEY) == {**KEYS, **STORED}
