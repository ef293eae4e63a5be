"""Operations on tables as such: create, describe, and time to live."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.simulation.dynamodb.refusal import Refusal, invalid
from tests.simulation.dynamodb.schema import KeySchema, schema_of
from tests.simulation.dynamodb.table import Table

if TYPE_CHECKING:
    from datetime import datetime

_NAME = re.compile(r"[a-zA-Z0-9_.-]{3,255}")


def create_table(tables: dict[str, Table], request: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Usable at once: no simulation waits for a table."""
    name = request["TableName"]
    if not _NAME.fullmatch(name):
        raise invalid(f"Value '{name}' at 'tableName' failed to satisfy constraint: 3 to 255 of [a-zA-Z0-9_.-]")
    if name in tables:
        raise Refusal("ResourceInUseException", f"Table already exists: {name}")
    tables[name] = Table(schema_of(request), created_at=now)
    return {"TableDescription": _description(tables[name])}


def describe(table: Table) -> dict[str, Any]:
    return {"Table": _description(table)}


def set_time_to_live(table: Table, request: dict[str, Any]) -> dict[str, Any]:
    wanted = request["TimeToLiveSpecification"]
    if wanted["Enabled"] == (table.ttl is not None):
        raise invalid(f"TimeToLive is already {'enabled' if table.ttl else 'disabled'}")
    table.ttl = wanted["AttributeName"] if wanted["Enabled"] else None
    return {"TimeToLiveSpecification": wanted}


def _description(table: Table) -> dict[str, Any]:
    schema = table.schema
    kinds = dict(schema.key.kinds)
    for index in schema.indexes.values():
        kinds.update(index.key.kinds)
    described: dict[str, Any] = {
        "TableName": table.name,
        "TableStatus": "ACTIVE",
        "CreationDateTime": table.created_at.timestamp(),
        "TableArn": f"arn:aws:dynamodb:us-east-1:000000000000:table/{table.name}",
        "KeySchema": _keys(schema.key),
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in kinds.items()],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "ItemCount": len(table.items),
    }
    if schema.indexes:
        described["GlobalSecondaryIndexes"] = [
            {"IndexName": index.name, "IndexStatus": "ACTIVE", "KeySchema": _keys(index.key)}
            for index in schema.indexes.values()
        ]
    return described


def _keys(key: KeySchema) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(key.names, ("HASH", "RANGE"), strict=False)]
