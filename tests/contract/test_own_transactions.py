"""A caller's own writes: with the making of a job, or with its completion, both happen or neither."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import JobStatus, Within
from leasehold.kernel.errors import JobNotFoundError, SystemHaltedError, TransactionRefusedError, UnknownJobTypeError
from tests.contract.engines import on_real_tables

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold import JobContext
    from tests.contract.world import World

pytestmark = on_real_tables
NO_ITEMS: list[Any] = [
    {"Put": {"TableName": "orders", "Item": {"order_id": "o1"}}},
    {"Put": {"TableName": "orders"}},
    {"Insert": {"TableName": "orders", "Item": {"order_id": {"S": "o1"}}}},
    {"Put": {"TableName": 7, "Item": {"order_id": {"S": "o1"}}}},
    "Put",
]


class Orders:
    """A table that belongs to the user."""

    def __init__(self, client: DynamoDBClient, name: str) -> None:
        self._client = client
        self._name = name
        client.create_table(
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "order_id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "order_id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def put(self, order_id: str) -> dict[str, Any]:
        """An item of a transaction: a new order."""
        return {
            "Put": {
                "TableName": self._name,
                "Item": {"order_id": {"S": order_id}},
                "ConditionExpression": "attribute_not_exists(order_id)",
            }
        }

    def has(self, order_id: str) -> bool:
        return "Item" in self._client.get_item(TableName=self._name, Key={"order_id": {"S": order_id}})


@pytest.fixture
def orders(client: DynamoDBClient, world: World) -> Orders:
    return Orders(client, f"orders-of-{world.table.name}")


def test_a_job_and_an_order_are_made_together(world: World, client: DynamoDBClient, orders: Orders) -> None:
    job = world.queue.transact_items("report", {"n": 1}, dedup_key="o1")

    with pytest.raises(JobNotFoundError):
        world.queue.get(job.job_id)
    client.transact_write_items(TransactItems=[orders.put("o1"), *job.items])  # type: ignore[list-item]

    assert orders.has("o1")
    assert world.queue.enqueue("report", dedup_key="o1").job_id == job.job_id
    assert world.work() == ["completed"]


def test_no_job_is_made_if_the_order_cannot_be(world: World, client: DynamoDBClient, orders: Orders) -> None:
    client.transact_write_items(TransactItems=[orders.put("o1")])  # type: ignore[list-item]
    job = world.queue.transact_items("report", dedup_key="o1")

    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(TransactItems=[orders.put("o1"), *job.items])  # type: ignore[list-item]

    with pytest.raises(JobNotFoundError):
        world.queue.get(job.job_id)
    assert world.queue.enqueue("report", dedup_key="o1").created


def test_no_order_is_made_if_the_dedup_key_is_taken(world: World, client: DynamoDBClient, orders: Orders) -> None:
    world.queue.enqueue("report", dedup_key="o1")
    job = world.queue.transact_items("report", dedup_key="o1")

    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(TransactItems=[orders.put("o1"), *job.items])  # type: ignore[list-item]

    assert not orders.has("o1")


def test_a_dedup_key_is_free_for_a_transaction_again_once_its_job_has_ended(
    world: World, client: DynamoDBClient, orders: Orders
) -> None:
    first = world.queue.transact_items("report", dedup_key="o1")
    client.transact_write_items(TransactItems=[orders.put("o1"), *first.items])  # type: ignore[list-item]
    assert world.work() == ["completed"]

    second = world.queue.transact_items("report", dedup_key="o1")
    rival = world.queue.transact_items("report", dedup_key="o1")
    client.transact_write_items(TransactItems=[orders.put("o2"), *second.items])  # type: ignore[list-item]

    assert world.queue.enqueue("report", dedup_key="o1").job_id == second.job_id
    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(TransactItems=[orders.put("o3"), *rival.items])  # type: ignore[list-item]
    assert not orders.has("o3")


def test_a_dedup_key_stays_taken_for_a_transaction_until_its_window_is_over(
    world: World, client: DynamoDBClient, orders: Orders
) -> None:
    world.queue.enqueue("report", dedup_key="o1", dedup_window=Within(timedelta(hours=1)))
    assert world.work() == ["completed"]

    early = world.queue.transact_items("report", dedup_key="o1")
    with pytest.raises(client.exceptions.TransactionCanceledException):
        client.transact_write_items(TransactItems=[orders.put("o1"), *early.items])  # type: ignore[list-item]
    world.clock.advance(timedelta(hours=1))
    late = world.queue.transact_items("report", dedup_key="o1")
    client.transact_write_items(TransactItems=[orders.put("o1"), *late.items])  # type: ignore[list-item]

    assert world.work() == ["completed"]
    assert world.status(late.job_id) is JobStatus.COMPLETED


def test_a_job_for_a_transaction_is_refused_like_any_other(world: World, orders: Orders) -> None:
    with pytest.raises(UnknownJobTypeError):
        world.queue.transact_items("unheard_of")
    world.operator.halt(reason="bad deploy")
    with pytest.raises(SystemHaltedError):
        world.queue.transact_items("report")


def test_a_handlers_own_writes_commit_with_the_completion(world: World, orders: Orders) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.script.then(lambda context: context.transact_complete([orders.put("o1"), orders.put("o2")], {"orders": 2}))

    assert world.work() == ["completed"]

    job = world.job(job_id)
    assert (job.status, job.result, len(job.runs)) == (JobStatus.COMPLETED, {"orders": 2}, 1)
    assert orders.has("o1")
    assert orders.has("o2")


def test_nothing_is_written_if_a_condition_of_the_handler_fails(
    world: World, client: DynamoDBClient, orders: Orders
) -> None:
    client.transact_write_items(TransactItems=[orders.put("o2")])  # type: ignore[list-item]
    job_id = world.queue.enqueue("report").job_id
    world.script.then(lambda context: context.transact_complete([orders.put("o2"), orders.put("o1")]))

    assert world.work() == ["failed"]

    assert not orders.has("o1")
    assert (world.status(job_id), world.job(job_id).last_error_code) == (JobStatus.FAILED, "transaction_refused")


def test_a_handler_whose_condition_failed_is_told_which_and_can_go_on(
    world: World, client: DynamoDBClient, orders: Orders
) -> None:
    client.transact_write_items(TransactItems=[orders.put("o2")])  # type: ignore[list-item]
    job_id = world.queue.enqueue("report").job_id

    def work(context: JobContext) -> None:
        with pytest.raises(TransactionRefusedError) as refused:
            context.transact_complete([orders.put("o1"), orders.put("o2")])
        assert list(refused.value.reasons) == [1]
        assert world.status(context.job_id) is JobStatus.IN_PROGRESS
        context.transact_complete([orders.put("o1")], "second try")

    world.script.then(work)

    assert world.work() == ["completed"]
    assert world.job(job_id).result == "second try"
    assert orders.has("o1")


def test_a_zombie_cannot_commit_its_own_writes_after_the_reap(world: World, orders: Orders) -> None:
    job_id = world.queue.enqueue("report").job_id

    def work(context: JobContext) -> None:
        world.let_lease_expire(context.job_id)
        world.poll()
        context.transact_complete([orders.put("o1")])

    world.script.then(work)

    assert world.work() == ["lease_lost"]
    assert not orders.has("o1")
    assert world.status(job_id) is JobStatus.FAILED


@pytest.mark.parametrize("item", NO_ITEMS, ids=["no type", "no item", "no such action", "no name", "no mapping"])
def test_what_could_not_even_be_sent_fails_at_once_with_the_reason_and_is_not_tried_again(
    world: World, item: Any
) -> None:
    job_id = world.queue.enqueue("report").job_id
    world.script.then(lambda context: context.transact_complete([item]))
    began = world.clock.now()

    assert world.work() == ["dead_letter"]

    dead_letter = world.operator.dead_letter(job_id)
    assert dead_letter.error_code == "invalid_option"
    assert "these are no items of TransactWriteItems" in dead_letter.failure_reason
    assert world.clock.now() == began
