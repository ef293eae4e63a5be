"""The stores that the contract is run against, and how a test says which of them it needs."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import pytest

from leasehold.kernel.dynamodb.table import DynamoTable, TableNames
from tests.tables import create_tables

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_numbers = itertools.count()

_MEMORY = pytest.param("memory")
_MOTO = pytest.param("moto")
# The in-process DynamoDB of the simulation: a fault of it shows here as a fault of the port.
_MODEL = pytest.param("model")
_SERVERS = [
    pytest.param("dynoxide", marks=pytest.mark.dynoxide),
    pytest.param("ministack", marks=pytest.mark.ministack),
]

ENGINES = [_MEMORY, _MODEL, _MOTO, *_SERVERS]

# moto takes no batches of statements, which the tests of how they are answered need, and takes a repeated
# ClientRequestToken for a new request: what either would show there is moto's gap, not ours.
without_moto = pytest.mark.parametrize("engine", [_MEMORY, _MODEL, *_SERVERS], indirect=True)

# A caller's own table next to ours exists only where there is a DynamoDB.
on_real_tables = pytest.mark.parametrize("engine", [_MODEL, *_SERVERS], indirect=True)


def fresh_table(client: DynamoDBClient) -> DynamoTable:
    """New tables under names that no other test of any process has."""
    suffix = f"{os.getpid()}-{next(_numbers)}"
    names = TableNames(jobs=f"jobs-{suffix}", dead_letters=f"dead-letters-{suffix}")
    create_tables(client, names)
    return DynamoTable(client, names)
