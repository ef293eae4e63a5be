"""What a job's life costs in write units, measured from consumed capacity; every change of these figures is meant.

The figures are AWS's bill. dynoxide reports them right, except that it does not double the index part of a transaction
as AWS does; the meter does. Refused writes, which AWS bills but no engine reports, are in it with a unit each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold import JobType
from tests.cost.life import Life
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.dynoxide

KILOBYTE = 1024


def live(client: DynamoDBClient, steps: str, *, payload_bytes: int, ended_index: bool, limit: int | None) -> Life:
    job_type = JobType(name="send_order_receipt", concurrency=limit)
    life = Life(RealQueue(client, [job_type], ended_index=ended_index), payload_bytes=payload_bytes)
    for step in steps.split():
        life.take(step)
    print(f"\n{life.units:g} units: " + ", ".join(f"{s.name} {s.units:g} ({s.item_bytes} B)" for s in life.steps))
    assert max(step.item_bytes for step in life.steps) <= KILOBYTE
    return life


@pytest.mark.parametrize(("ended_index", "limit"), [(False, 8), (True, 9)])
def test_a_plain_jobs_life_costs_four_writes_and_eight_units_or_nine_with_the_ended_index(
    ended_index: bool, limit: int, dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    steps = "enqueue poll start complete"

    life = live(make_client(dynoxide_endpoint), steps, payload_bytes=400, ended_index=ended_index, limit=None)

    assert [step.writes for step in life.steps] == [1, 1, 1, 1]
    assert life.units <= limit


# What each step costs with the ended index, and the type's concurrency limit.
LIVES = {
    "deduplicated": ("enqueue_with_key poll start complete", [6, 3, 1, 4], None),
    "retried once": ("enqueue poll start fail poll start complete", [2, 3, 1, 3, 3, 1, 3], None),
    "snoozed": ("enqueue poll start snooze poll start complete", [2, 3, 1, 3, 3, 1, 3], None),
    "extended by a heartbeat": ("enqueue poll start extend complete", [2, 3, 1, 3, 3], None),
    "buried": ("enqueue poll start bury", [2, 3, 1, 12], None),
    "cancelled": ("enqueue cancel", [2, 3], None),
    # The first poll holds the job, the second parks its scope, the third admits it.
    "held by a pause": ("pause enqueue poll poll unpause poll start complete", [1, 2, 5, 2, 6, 6, 1, 3], None),
    # The claim is a transaction with the seat; the end frees it and looks for who waits.
    "under a limit": ("enqueue poll start complete", [2, 8, 1, 5], 5),
}


@pytest.mark.parametrize("name", LIVES)
def test_each_other_life_costs_what_it_is_known_to_cost(
    name: str, dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    steps, units, limit = LIVES[name]

    life = live(make_client(dynoxide_endpoint), steps, payload_bytes=80, ended_index=True, limit=limit)

    assert [step.units for step in life.steps] == units
