"""Plain updates: whom they let in, the update itself lets in, to the same effect."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.jobs import conditions_of
from leasehold.kernel.memory import MemoryTable, holds
from leasehold.kernel.table import (
    JOBS,
    AnyOf,
    ConditionFailed,
    Equals,
    Exists,
    Key,
    Missing,
    Put,
    Update,
    check_plain,
    plain,
)
from leasehold.kernel.transitions import TRANSITIONS

if TYPE_CHECKING:
    from leasehold.kernel.table import Record
    from leasehold.kernel.transitions import Transition

KEY = Key(JOBS, ("things", "one"))
UPDATE = Update(
    key=KEY,
    conditions=(Equals("a", 1), AnyOf((AnyOf((Missing("b"), Exists("c"))), Exists("d")))),
    sets={"s": "new"},
    adds={"n": 2},
    removes=frozenset({"d"}),
)


def after(update: Update, record: Record) -> Record | None:
    table = MemoryTable()
    table.write(Put(key=KEY, record=record))
    try:
        return table.write(update)
    except ConditionFailed:
        return None


def test_whatever_a_plain_update_does_the_update_itself_would_have_done():
    done = 0
    for bits in product((False, True), repeat=5):
        record: Record = {name: 1 for name, there in zip("abcdn", bits, strict=True) if there}
        result = after(plain(UPDATE), record)
        if result is not None:
            done += 1
            assert result == after(UPDATE, record)

    # With `a`, without `b` and without a count: `c` and `d` are as they are.
    assert done == 4


def test_an_update_without_counts_and_choices_is_plain_already():
    update = Update(key=KEY, conditions=(Equals("a", 1),), sets={"s": "new"})

    assert plain(update) is update


@pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda each: each.name)
def test_every_transition_can_be_made_plain_and_stays_within_its_guards(transition: Transition):
    seen = {
        "due_key": "k",
        "locked_by": "me",
        "now": "t",
        "until": "u",
        "due_lane": "l",
        "priority": 1,
        "payload": "{}",
    }
    seen["completed_at"] = "t"
    update = Update(key=KEY, conditions=conditions_of(transition, seen), sets={"s": 1}, adds=dict(transition.adds))

    check_plain([plain(update)])

    for condition in plain(update).conditions:
        assert condition in _leaves(update.conditions) or condition in [Missing(name) for name in update.adds]


def test_a_condition_on_what_is_not_there_does_not_hold_unless_it_asks_for_that():
    assert [holds(each, {}) for each in (Equals("a", 1), Exists("a"), Missing("a"))] == [False, False, True]


@pytest.mark.parametrize(
    ("stored", "seen", "is_same"),
    [
        ([1, "a"], [1, "a"], True),
        ([1, "a"], [1, "b"], False),
        ([1, "a"], [1], False),
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, "a", False),
        ("a", {"a": 1}, False),
        ([1], 1, False),
        (1, [1], False),
    ],
)
def test_a_list_or_a_map_is_the_same_only_as_a_whole(stored, seen, is_same):
    assert holds(Equals("a", seen), {"a": stored}) is is_same


def _leaves(conditions: tuple[object, ...]) -> list[object]:
    found: list[object] = []
    for each in conditions:
        found += _leaves(each.conditions) if isinstance(each, AnyOf) else [each]
    return found
