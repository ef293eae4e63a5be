"""How Leasehold opens a DynamoDB client: retries and timeouts that suit short conditional writes, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.kernel.table import DEAD_LETTERS, JOBS

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.config import Config
    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.dynamodb.table import TableNames
    from leasehold.kernel.table import TableDefinition


# A text of our own: botocore would put its own together twice for every call, which is a tenth of its CPU.
USER_AGENT = "leasehold"


def connect(
    *,
    endpoint_url: str | None = None,
    region_name: str | None = None,
    open_client: Callable[..., Any] | None = None,
    **overrides: Any,
) -> DynamoDBClient:
    """A low-level client. boto3 is imported here, so that importing Leasehold does not pay for it."""
    from botocore.config import Config

    if open_client is None:
        import boto3

        open_client = boto3.client
    config = table_config().merge(overrides.pop("config", Config()))
    client: DynamoDBClient = open_client(
        "dynamodb", endpoint_url=endpoint_url, region_name=region_name, config=config, **overrides
    )
    return client


def table_config() -> Config:
    """How often a call is tried, how long each try may take, and that its parameters are not checked once more."""
    from botocore.config import Config

    return Config(
        user_agent=USER_AGENT,
        retries={"mode": "standard", "total_max_attempts": 5},
        connect_timeout=2,
        read_timeout=5,
        max_pool_connections=16,
        tcp_keepalive=True,
        # A tenth of a call's CPU. Requests are made by this library, of values that were checked before; what callers
        # bring along is checked in foreign.py.
        parameter_validation=False,
    )


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
