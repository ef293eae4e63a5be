"""What a job's life costs in write units, measured from consumed capacity; every change of these figures is meant.

The figures are AWS's bill. dynoxide reports them right, except that it does not double the index part of a transaction
as AWS does; the meter does. Refused writes, which AWS bills but no engine reports, are in it with a unit each.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import CircuitBreaker, JobType, trace_context
from leasehold.kernel.type_options import OnFull
from leasehold.limits.model import Rate
from tests.cost.life import Life
from tests.real_queue import RealQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.dynoxide

KILOBYTE = 1024


def live(
    client: DynamoDBClient,
    steps: str,
    *,
    payload_bytes: int,
    ended_index: bool,
    concurrency: int | None = None,
    resources: Mapping[str, int] | None = None,
    type_concurrency: int | None = None,
    type_resources: tuple[str, ...] = (),
    webhook: str | None = None,
    is_woken: bool = True,
    **limits: Any,
) -> Life:
    job_type = JobType(name="send_order_receipt", concurrency=type_concurrency, resources=type_resources, **limits)
    deployed = RealQueue(
        client, [job_type], ended_index=ended_index, concurrency=concurrency, resources=resources or {}
    )
    is_keyed = job_type.concurrency_per_key is not None or job_type.rate_per_key is not None
    life = Life(
        deployed,
        payload_bytes=payload_bytes,
        concurrency_key="c-417" if is_keyed else None,
        webhook=webhook,
        is_woken=is_woken,
    )
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

    life = live(make_client(dynoxide_endpoint), steps, payload_bytes=400, ended_index=ended_index)

    assert [step.writes for step in life.steps] == [1, 1, 1, 1]
    assert life.units <= limit


def test_a_job_that_carries_its_producers_span_costs_what_any_costs(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    client, steps = make_client(dynoxide_endpoint), "enqueue poll start complete"

    plain = live(client, steps, payload_bytes=300, ended_index=True)
    with trace_context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"):
        traced = live(client, steps, payload_bytes=300, ended_index=True)

    assert [step.units for step in traced.steps] == [step.units for step in plain.steps]
    assert traced.steps[0].item_bytes - plain.steps[0].item_bytes == len("trace") + 55


# What each step costs with the ended index, and the limits of the type (or of all types, for everything).
SEATS = {"concurrency_per_key": 3}
RATE = {"rate": Rate(10, timedelta(minutes=1))}
LIVES: dict[str, tuple[str, list[int], dict[str, Any]]] = {
    "plain": ("enqueue poll start complete", [2, 3, 1, 3], {}),
    "deduplicated": ("enqueue_with_key poll start complete", [6, 3, 1, 4], {}),
    "debounced, called three times": (f"{'call_in_a_burst ' * 3}poll start complete", [6, 3, 3, 3, 1, 4], {}),
    "retried once": ("enqueue poll start fail poll start complete", [2, 3, 1, 3, 3, 1, 3], {}),
    "snoozed once": ("enqueue poll start snooze poll start complete", [2, 3, 1, 3, 3, 1, 3], {}),
    "extended once by a heartbeat": ("enqueue poll start extend complete", [2, 3, 1, 3, 3], {}),
    "a dead letter": ("enqueue poll start bury", [2, 3, 1, 12], {}),
    "cancelled before it ran": ("enqueue cancel", [2, 10], {}),
    # The first poll holds the job, the second parks its scope, the third admits it.
    "held by a pause": ("pause enqueue poll poll unpause poll start complete", [6, 2, 6, 2, 10, 6, 1, 3], {}),
    # The claim is a transaction with the seat; the end frees it and looks for who waits.
    "with a limit of its type": ("enqueue poll start complete", [2, 8, 1, 4], {"type_concurrency": 5}),
    "with a limit of its key": ("enqueue poll start complete", [2, 8, 1, 4], SEATS),
    "with a limit of everything": ("enqueue poll start complete", [2, 8, 1, 4], {"concurrency": 50}),
    "with a shared resource": (
        "enqueue poll start complete",
        [2, 8, 1, 4],
        {"resources": {"gpu": 2}, "type_resources": ("gpu",)},
    ),
    "with limits of type and key": (
        "enqueue poll start complete",
        [2, 10, 1, 5],
        {**SEATS, "type_concurrency": 5},
    ),
    # Time gives a start back: nothing is written at the end.
    "with a rate": ("enqueue poll start complete", [2, 8, 1, 3], RATE),
    "with a rate of its key": (
        "enqueue poll start complete",
        [2, 8, 1, 3],
        {"rate_per_key": Rate(10, timedelta(minutes=1))},
    ),
    # Held behind the one that has the seat, then admitted when that one ends.
    "waited for a seat": (
        "occupy enqueue poll vacate poll start complete",
        [10, 2, 6, 5, 9, 1, 4],
        {"type_concurrency": 1},
    ),
    # Where its handler knows no poller that it could start, as in a program of one's own.
    "waited for a seat, woken by the stream": (
        "occupy enqueue poll vacate poll start complete",
        [10, 2, 6, 8, 11, 1, 7],
        {"type_concurrency": 1, "is_woken": False},
    ),
    # Behind another run of the same window: the first of a window costs one more.
    "with a circuit breaker": (
        "occupy enqueue vacate poll start complete",
        [5, 2, 6, 3, 1, 4],
        {"breaker": CircuitBreaker()},
    ),
    # The end notes that it is owed. The poll after it makes the delivery (2), lets the job go (2), and claims the
    # delivery (3), whose life the rest is. What it is to send is compressed: within 1 KB unless it is tried again.
    "told by a webhook": (
        "enqueue poll start complete poll start complete",
        [2, 3, 1, 4, 7, 1, 3],
        {"webhook": "https://example.com/hooks/jobs"},
    ),
    "told by a webhook at the second try": (
        "enqueue poll start complete poll start fail poll start complete",
        [2, 3, 1, 4, 7, 1, 3, 4, 2, 4],
        {"webhook": "https://example.com/hooks/jobs"},
    ),
    "skipped at a full limit": ("occupy enqueue poll", [10, 2, 3], {"type_concurrency": 1, "on_full": OnFull.SKIP}),
    "cancelled at a full limit": (
        "occupy enqueue poll",
        [10, 2, 3],
        {"type_concurrency": 1, "on_full": OnFull.CANCEL_NEW},
    ),
}


# Steps that belong to an operator or to another job.
OF_OTHERS = {"pause", "unpause", "occupy", "vacate"}


def own_units(name: str) -> int:
    """What a life costs the job itself; docs/cost.md states it."""
    steps, units, _ = LIVES[name]
    return sum(cost for step, cost in zip(steps.split(), units, strict=True) if step not in OF_OTHERS)


@pytest.mark.parametrize("name", LIVES)
def test_each_life_costs_what_it_is_known_to_cost(
    name: str, dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    steps, units, limits = LIVES[name]

    life = live(make_client(dynoxide_endpoint), steps, payload_bytes=80, ended_index=True, **limits)

    assert [step.units for step in life.steps] == units


def test_a_job_that_waited_for_a_seat_costs_less_than_26_units() -> None:
    assert own_units("waited for a seat") < 26
    assert own_units("waited for a seat, woken by the stream") <= 27
