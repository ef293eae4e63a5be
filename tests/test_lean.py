"""Lean dataclasses behave like the standard ones."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import TYPE_CHECKING

import pytest

from leasehold import lean

if TYPE_CHECKING:
    from collections.abc import Callable


@lean.dataclass(frozen=True, slots=True)
class Lean:
    name: str
    count: int = 0
    seen: tuple[str, ...] = ()
    note: str = field(default="", compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    name: str
    count: int = 0
    seen: tuple[str, ...] = ()
    note: str = field(default="", compare=False, repr=False)


@lean.dataclass(frozen=True, slots=True)
class Twin:
    name: str
    count: int = 0
    seen: tuple[str, ...] = ()
    note: str = field(default="", compare=False, repr=False)


@lean.dataclass(slots=True, kw_only=True)
class Tally:
    """Counts."""

    count: int = 0
    names: list[str] = field(default_factory=list)
    seen: int | None = field(default=None, init=False)


@lean.dataclass(frozen=True, slots=True)
class Nothing:
    pass


@lean.dataclass(frozen=True, slots=True)
class Named:
    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


CASES = [("a",), ("a", 1), ("b",), ("a", 0, ("x",)), ("a", 0, (), "a note")]


@pytest.mark.parametrize("one", CASES)
@pytest.mark.parametrize("other", CASES)
def test_equality_and_hashes_are_those_of_the_standard_ones(one, other):
    assert (Lean(*one) == Lean(*other)) == (Standard(*one) == Standard(*other))
    if Lean(*one) == Lean(*other):
        assert hash(Lean(*one)) == hash(Lean(*other))


@pytest.mark.parametrize("values", CASES)
def test_they_look_like_the_standard_ones(values):
    assert repr(Lean(*values)) == repr(Standard(*values)).replace("Standard", "Lean")


def test_equal_values_of_another_class_are_not_equal():
    others: list[object] = [Twin("a"), ("a", 0, ())]

    assert Lean("a") not in others


def test_they_can_be_replaced_listed_and_matched():
    assert dataclasses.replace(Lean("a"), count=2) == Lean("a", 2)
    assert [each.name for each in dataclasses.fields(Lean)] == ["name", "count", "seen", "note"]
    match Lean("a", 3):
        case Lean(name, count):
            assert (name, count) == ("a", 3)


def test_one_that_may_change_has_no_hash_and_its_own_defaults():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Tally())
    tally = Tally()
    tally.names.append("a")
    assert Tally() == Tally(count=0, names=[])
    assert tally != Tally()
    assert tally.seen is None


def test_a_class_without_fields_and_one_with_a_method_of_its_own_are_taken_as_they_are():
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing()}) == 1
    assert repr(Named("a")) == "<a>"


def test_slots_leave_no_room_for_other_attributes():
    with pytest.raises(AttributeError):
        Tally().other = 1  # type: ignore[attr-defined]


def test_a_frozen_one_stays_as_it_was_made():
    made = Lean("a")

    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.count


def test_a_field_that_is_left_out_of_the_hash_is_left_out_of_it_alone() -> None:
    @lean.dataclass(frozen=True)
    class Access:
        name: str
        roles: dict[str, str] = field(default_factory=dict, hash=False)

    assert hash(Access("a", {"x": "y"})) == hash(Access("a"))
    assert Access("a", {"x": "y"}) != Access("a")


def test_what_it_takes_is_compiled_when_it_is_first_asked_for_and_looks_like_the_standard_one() -> None:
    @lean.dataclass(frozen=True, slots=True, kw_only=True)
    class Once:
        """Never made."""

        name: str
        count: int = 0

    assert not callable(vars(Once)["__init__"])
    assert str(inspect.signature(Once)) == "(*, name: 'str', count: 'int' = 0) -> None"
    assert callable(vars(Once)["__init__"])
    with pytest.raises(TypeError, match="name"):
        Once()  # type: ignore[call-arg]


def test_the_first_one_is_checked_like_all_others_and_a_child_has_the_fields_of_both() -> None:
    @lean.dataclass(frozen=True)
    class Checked:
        count: int

        def __post_init__(self) -> None:
            if self.count < 0:
                raise ValueError("below zero")

    @lean.dataclass(frozen=True)
    class Child(Checked):
        name: str = "a"

    for made in (Child, Checked):
        with pytest.raises(ValueError, match="below zero"):
            made(-1)
    assert dataclasses.asdict(Child(1)) == {"count": 1, "name": "a"}


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_copies_of_a_frozen_one_are_equal_to_it(again: Callable[[Lean], Lean]) -> None:
    made = Lean("a", 2, ("x",), "a note")

    assert again(made) == made
    assert again(made).note == "a note"
