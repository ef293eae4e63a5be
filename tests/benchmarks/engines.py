"""Engines for benchmarks: each `with` block has one of its own, and clients that know nothing of this machine's AWS."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from leasehold.kernel.dynamodb.connection import connect
from tests import dynoxide_words, servers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

ROOT = Path(__file__).parent.parent.parent
REGION = "us-east-1"
ACCESS_KEY = "leasehold-bench"
CREDENTIALS: dict[str, Any] = {
    "region_name": REGION,
    "aws_access_key_id": ACCESS_KEY,
    "aws_secret_access_key": ACCESS_KEY,
}


@contextmanager
def dynoxide(database: Path | None = None) -> Iterator[str]:
    """The address of a DynamoDB engine; in memory unless `database` names a file."""
    dynoxide_words.install()
    with servers.dynoxide(database=database, root=ROOT) as server:
        yield server.endpoint


def bare_client_of(endpoint: str) -> DynamoDBClient:
    """A client as anybody opens it, with botocore's own defaults."""
    return boto3.client("dynamodb", endpoint_url=endpoint, **CREDENTIALS)


def client_of(endpoint: str) -> DynamoDBClient:
    """A client as Leasehold itself opens it."""
    return connect(endpoint_url=endpoint, **CREDENTIALS)
