"""The table port: transactions, bulk inserts and bulk reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    TransactionCancelled,
    Update,
)
from tests.contract.engines import without_moto

if TYPE_CHECKING:
    from leasehold.kernel.table import Change, Record, Table


def key(name: str) -> Key:
    return Key(JOBS, ("things", name))


def insert(name: str) -> Put:
    return Put(key=key(name), record={"name": name})


def test_a_transaction_makes_all_of_its_changes_across_both_tables(table: Table) -> None:
    table.write(insert("old"))
    table.write(insert("gone"))
    dead_letter = Key(DEAD_LETTERS, ("letter",))

    table.transact(
        [
            insert("new"),
            Update(key=key("old"), conditions=(Exists("PK"),), sets={"name": "newer"}, adds={"count": 1}),
            Delete(key=key("gone"), conditions=(Exists("PK"),)),
            Put(key=dead_letter, record={"name": "letter"}),
        ],
        token="all",
    )

    assert table.get(key("new")) == {"PK": "things", "SK": "new", "name": "new"}
    assert table.get(key("old")) == {"PK": "things", "SK": "old", "name": "newer", "count": 1}
    assert table.get(key("gone")) is None
    assert table.get(dead_letter) == {"id": "letter", "name": "letter"}


def test_a_transaction_with_failed_conditions_changes_nothing_and_names_each_of_them(table: Table) -> None:
    table.write(insert("there"))

    with pytest.raises(TransactionCancelled) as cancelled:
        table.transact(
            [
                insert("new"),
                insert("there"),
                Update(key=key("absent"), conditions=(Equals("name", "x"),), sets={"name": "y"}),
            ],
            token="none",
        )

    assert cancelled.value.failed == {1: {"PK": "things", "SK": "there", "name": "there"}, 2: None}
    assert table.get(key("new")) is None
    assert table.get(key("absent")) is None


def test_a_transaction_that_was_cancelled_can_be_made_once_its_conditions_hold(table: Table) -> None:
    wanted = [Update(key=key("one"), conditions=(Exists("PK"),), sets={"name": "two"})]
    with pytest.raises(TransactionCancelled):
        table.transact(wanted, token="again")

    table.write(insert("one"))
    table.transact(wanted, token="again")

    assert table.get(key("one")) == {"PK": "things", "SK": "one", "name": "two"}


@without_moto
def test_a_transaction_that_is_repeated_with_its_token_takes_effect_once(table: Table) -> None:
    changes: list[Change] = [Update(key=key("one"), conditions=(), adds={"count": 1}), insert("two")]

    for _ in range(2):
        table.transact(changes, token="once")

    assert table.get(key("one")) == {"PK": "things", "SK": "one", "count": 1}


def test_a_token_that_comes_back_with_other_changes_is_another_transaction(table: Table) -> None:
    """Who was overtaken and asks for something else must not be told that the token is taken."""
    for wanted in ("one", "two"):
        table.transact([insert(wanted)], token="the same")

    assert [record["SK"] for record in table.query(JOBS, "things", limit=9).records] == ["one", "two"]


def test_many_inserts_are_answered_one_by_one_and_never_replace(table: Table) -> None:
    table.write(Put(key=key("07"), record={"name": "first"}))
    names = [f"{number:02d}" for number in range(60)]

    answers = table.insert_many([insert(name) for name in names])

    assert [name for name, answer in zip(names, answers, strict=True) if answer is not None] == ["07"]
    assert isinstance(answers[7], ConditionFailed)
    assert table.get(key("07")) == {"PK": "things", "SK": "07", "name": "first"}
    assert [record["SK"] for record in table.query(JOBS, "things", limit=100).records] == names


def test_inserting_nothing_answers_nothing(table: Table) -> None:
    assert table.insert_many([]) == []


def test_a_bulk_insert_keeps_values_of_every_kind(table: Table) -> None:
    record: Record = {"text": "it's", "number": 7, "flag": True, "list": ["a", {"b": [1]}], "map": {"c": "d"}}

    assert table.insert_many([Put(key=key("one"), record=record)]) == [None]

    assert table.get(key("one")) == {"PK": "things", "SK": "one", **record}


@without_moto
def test_many_updates_are_answered_one_by_one_each_by_its_own_condition(table: Table) -> None:
    names = [f"{number:02d}" for number in range(30)]
    table.insert_many([Put(key=key(name), record={"name": name, "wake": True, "old": 1}) for name in names])
    table.write(Update(key=key("07"), conditions=(), sets={"name": "taken"}))
    updates = [
        Update(
            key=key(name),
            conditions=(
                OneOf("name", (name, "x")),
                Equals("old", 1),
                Missing("count"),
                Exists("SK"),
                Above("old", 0),
                After("name", "!"),
                NotAfter("name", "~"),
            ),
            sets={"name": "new", "count": 1},
            removes=frozenset({"wake", "old"}),
        )
        for name in [*names, "absent"]
    ]

    answers = table.update_many(updates)

    refused = [at for at, answer in enumerate(answers) if answer is not None]
    assert refused == [7, 30]
    taken = {"PK": "things", "SK": "07", "name": "taken", "wake": True, "old": 1}
    assert [answer.current for answer in answers if isinstance(answer, ConditionFailed)] == [None, None]
    assert table.get(key("07")) == taken
    assert table.get(key("08")) == {"PK": "things", "SK": "08", "name": "new", "count": 1}
    assert table.get(key("absent")) is None


def test_updating_nothing_answers_nothing(table: Table) -> None:
    assert table.update_many([]) == []


@pytest.mark.parametrize("change", [{"adds": {"n": 1}}, {"conditions": (AnyOf((Exists("PK"), Missing("PK"))),)}])
def test_a_batch_takes_neither_counts_nor_choices(table: Table, change: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="plain"):
        table.update_many([Update(**{"key": key("one"), "conditions": (), **change})])


def test_many_records_are_read_at_once_without_the_absent_and_without_doubles(table: Table) -> None:
    names = {f"{number:03d}" for number in range(120)}
    for name in names:
        table.write(insert(name))
    dead_letter = Key(DEAD_LETTERS, ("letter",))
    table.write(Put(key=dead_letter, record={"name": "letter"}))
    wanted = [key(name) for name in [*sorted(names), "absent", "000"]]

    found = table.get_many([*wanted, dead_letter])

    assert len(found) == 121
    assert {record["name"] for record in found} == {*names, "letter"}


def test_reading_no_keys_finds_nothing(table: Table) -> None:
    assert table.get_many([]) == []


@pytest.mark.parametrize("engine", ["memory", "moto", "dynoxide", "ministack"], indirect=True)
def test_a_scan_finds_every_record_of_its_table_and_no_other(table: Table) -> None:
    names = [f"{number:02d}" for number in range(60)]
    for name in names:
        table.write(insert(name))

    assert sorted(str(record["SK"]) for record in table.scan(JOBS)) == names
    assert list(table.scan(DEAD_LETTERS)) == []
