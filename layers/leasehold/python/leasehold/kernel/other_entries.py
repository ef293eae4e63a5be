"""Entries of the due index that are no jobs: scopes, what features look after, and what cannot be read."""

from __future__ import annotations

from leasehold import features
from leasehold.kernel import partitions
from leasehold.lean import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DueScope:
    """A scope whose held jobs may run again."""

    scope: str
    due_key: str


@dataclass(frozen=True, slots=True)
class FreedScope:
    """A scope in which a seat was freed that lanes wait for: it is looked at, whenever it is due."""

    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DueUnreadable:
    """An entry that is damaged, or of a version to come. It must not hide the entries behind it.

    is_misplaced: nothing with such a key is ever due; somebody put it there.
    """

    due_key: str
    problem: str
    is_misplaced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DueItem:
    """What a feature looks after, and is no job: a schedule whose next slot has come, a group that stops."""

    kind: str
    name: str
    due_key: str


def other_entry(partition: str, sort: str, due_key: str) -> DueScope | DueItem | DueUnreadable:
    if partition.startswith("seat#") and sort == partitions.SCOPE:
        return DueScope(scope=partition.removeprefix("seat#"), due_key=due_key)
    kind, name = features.due_item(partition, sort) or (None, "")
    if kind is not None:
        return DueItem(kind=kind, name=name, due_key=due_key)
    return DueUnreadable(due_key=due_key, problem=f"nothing is due at {partition} {sort}", is_misplaced=True)
