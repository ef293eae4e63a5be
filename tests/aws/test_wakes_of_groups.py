"""A group that wakes the poller is no job to claim: the poll that follows finds it in the due index."""

from __future__ import annotations

from leasehold.aws.polling import hints_of
from leasehold.kernel.jobs import due_entry
from leasehold.kernel.other_entries import DueItem

KEYS = {"PK": "group#import", "SK": "group", "due_key": "2026-11-15T09:30:00.000Z#0#import"}


def test_a_group_in_the_due_index_is_known_by_its_key():
    assert due_entry({**KEYS}) == DueItem(kind="group", name="import", due_key=KEYS["due_key"])


def test_a_group_in_the_stream_is_no_hint():
    image = {name: {"S": text} for name, text in KEYS.items()} | {"wake": {"BOOL": True}}

    assert hints_of({"Records": [{"eventSource": "aws:dynamodb", "dynamodb": {"NewImage": image}}]}) == []
