"""Without isolation all jobs are in the partition `job`, and the query of the requirements works as it is written."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest
from boto3.dynamodb.conditions import ConditionExpressionBuilder, Key
from boto3.dynamodb.types import TypeSerializer

from leasehold import JobStatus, JobType, Registry
from leasehold.kernel.dynamodb.expressions import from_item
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.keys import key_of, type_code
from tests.contract import grouping
from tests.contract.engines import on_real_tables
from tests.contract.world import World

if TYPE_CHECKING:
    from boto3.dynamodb.conditions import ConditionBase

    from leasehold.kernel.dynamodb.table import DynamoTable


class Shared(World):
    def deploy(self, *types: JobType, with_webhooks: bool = True) -> None:
        self.types = {each.name: each for each in types}
        self.operator.publish(Registry(types=self.types, isolate_types=False))


@pytest.fixture
def shared(table: DynamoTable) -> World:
    return Shared(table)


@on_real_tables
def test_the_query_of_requirement_000_finds_the_jobs_that_are_due(shared: World, table: DynamoTable) -> None:
    due = [shared.queue.enqueue(name).job_id for name in ("report", "email")]
    shared.queue.enqueue("report", run_in=timedelta(hours=1))
    shared.clock.advance(timedelta(seconds=1))
    now = shared.clock.now().astimezone(UTC)

    # As the document has it, but for the name of the table.
    table_resource = Resource(table)
    response = table_resource.query(
        KeyConditionExpression=Key("PK").eq("job") & Key("SK").lte(f"scheduled#{now.isoformat()}")
    )

    assert {item["job_id"] for item in response["Items"]} == set(due)


@on_real_tables
def test_jobs_of_all_types_run_from_the_one_partition(shared: World) -> None:
    ids = [shared.queue.enqueue(name, dedup_key="u1").job_id for name in ("report", "email")]
    grouping.make(shared, 2)

    grouping.run_out(shared)

    assert {key_of(job_id).pk for job_id in ids} == {"job"}
    assert {shared.status(job_id) for job_id in ids} == {JobStatus.COMPLETED}
    assert grouping.group(shared).completed == 2


def test_isolation_is_chosen_once_per_table(world: World) -> None:
    with pytest.raises(InvalidOptionError, match=r"isolate_types was True.*another deployment"):
        world.operator.publish(Registry(types=world.types, isolate_types=False))


def test_a_deployed_type_keeps_its_code(world: World) -> None:
    with pytest.raises(InvalidOptionError, match=f"code = 0x{type_code('report'):04x}"):
        world.operator.publish(Registry(types={"report": JobType(name="report", code=7)}))


def test_a_new_type_does_not_get_the_partitions_of_one_that_is_gone(world: World) -> None:
    world.deploy(world.types["report"])

    with pytest.raises(InvalidOptionError, match=r"once and twice have the same code.*code = 0x"):
        world.operator.publish(Registry(types={"twice": JobType(name="twice", code=type_code("once"))}))


class Resource:
    """`boto3.resource("dynamodb").Table(...)` on any engine; a real one would change the client that tests share."""

    def __init__(self, table: DynamoTable) -> None:
        self._table = table

    def query(self, *, KeyConditionExpression: ConditionBase) -> dict[str, Any]:  # noqa: N803  as boto3 has it
        built = ConditionExpressionBuilder().build_expression(KeyConditionExpression, is_key_condition=True)
        values = built.attribute_value_placeholders.items()
        answer = self._table._client.query(
            TableName=self._table.name,
            KeyConditionExpression=built.condition_expression,
            ExpressionAttributeNames=built.attribute_name_placeholders,
            ExpressionAttributeValues={name: TypeSerializer().serialize(value) for name, value in values},
        )
        return {"Items": [from_item(cast("Any", each)) for each in answer["Items"]]}
