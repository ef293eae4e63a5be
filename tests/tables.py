"""The tables as programs without CDK make them: tests, on a server, a model or a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.kernel.table import DEAD_LETTERS, JOBS

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.dynamodb.table import TableNames
    from leasehold.kernel.table import TableDefinition


def create_tables(client: DynamoDBClient, names: TableNames) -> None:
    """Create both tables where they do not exist yet, and wait until they can be used."""
    for definition, name in ((JOBS, names.jobs), (DEAD_LETTERS, names.dead_letters)):
        try:
            client.create_table(**creation_request(definition, name))
        except client.exceptions.ResourceInUseException:
            continue
        client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 60})
        client.update_time_to_live(
            TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": definition.ttl}
        )


def creation_request(definition: TableDefinition, name: str) -> dict[str, Any]:
    attributes = dict.fromkeys(
        [*definition.key, *(a for index in definition.indexes for a in (index.partition, index.sort))]
    )
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in attributes],
        "KeySchema": _key_schema(*definition.key),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index.name,
                "KeySchema": _key_schema(index.partition, index.sort),
                "Projection": (
                    {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.projected)}
                    if index.projected
                    else {"ProjectionType": "KEYS_ONLY"}
                ),
            }
            for index in definition.indexes
        ],
    }


def _key_schema(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]
