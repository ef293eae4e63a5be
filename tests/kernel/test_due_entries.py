"""What a place in the due index stands for is said by its key, and by nothing else."""

from __future__ import annotations

import pytest

from leasehold.kernel.jobs import due_entry
from leasehold.kernel.other_entries import DueItem, DueScope, DueUnreadable

DUE = "2026-11-15T09:30:00.000Z#0#x"


@pytest.mark.parametrize(
    ("partition", "sort", "entry"),
    [
        ("seat#type:single", "-", DueScope(scope="type:single", due_key=DUE)),
        ("schedule", "nightly", DueItem(kind="schedule", name="nightly", due_key=DUE)),
        ("group#g1", "group", DueItem(kind="group", name="g1", due_key=DUE)),
    ],
)
def test_what_is_due_and_no_job_is_known_by_its_key(partition: str, sort: str, entry: object):
    assert due_entry({"PK": partition, "SK": sort, "due_key": DUE}) == entry


@pytest.mark.parametrize(
    ("partition", "sort"),
    [
        ("seat#type:single", "007"),
        ("scheduled-job#greet#k", "-"),
        ("schedule#x", "nightly"),
        ("group#g1", "member#1"),
        ("group#", "group"),
        ("job", "scheduled#2026-11-15T09:30:00.000Z#x"),
    ],
)
def test_where_nothing_is_ever_due_somebody_has_put_it(partition: str, sort: str):
    entry = due_entry({"PK": partition, "SK": sort, "due_key": DUE})

    assert isinstance(entry, DueUnreadable)
    assert entry.is_misplaced
    assert f"{partition} {sort}" in entry.problem
