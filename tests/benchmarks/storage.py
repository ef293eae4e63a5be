"""How many bytes a table is billed for: items and index entries by DynamoDB's rules, 100 bytes more for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.kernel.table import DUE_INDEX, ENDED_INDEX, JOBS
from tests.meter import item_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mypy_boto3_dynamodb import DynamoDBClient

OVERHEAD = 100


def stored_bytes(client: DynamoDBClient, table: str) -> int:
    """Of all jobs in it with what belongs to them; what is there before the first job does not count."""
    pages = client.get_paginator("scan").paginate(TableName=table)
    items = [dict(item) for page in pages for item in page["Items"]]
    return sum(map(_billed, (item for item in items if item["PK"] != {"S": "control"})))


def _billed(item: Mapping[str, Any]) -> int:
    return sum(item_size(part) + OVERHEAD for part in (item, *_entries(item)))


def _entries(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for index in (DUE_INDEX, ENDED_INDEX):
        if index.partition in item and index.sort in item:
            names = {*JOBS.key, index.partition, index.sort, *index.projected}
            yield {name: value for name, value in item.items() if name in names}
