"""Every table does what the reference does, whatever is done to it in whatever order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis.stateful import run_state_machine_as_test

from leasehold.kernel.memory import MemoryTable
from tests.contract.engines import fresh_table
from tests.properties.profiles import sized
from tests.properties.table_machine import TableMachine
from tests.simulation.dynamodb import wire
from tests.simulation.dynamodb.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.table import Table

NOW = datetime(2026, 1, 1, tzinfo=UTC)
# The full size takes minutes; the limit of a single test is for the small one.
LONG = 3_600


class InMemory(TableMachine):
    def open_tables(self) -> Sequence[Table]:
        return [MemoryTable()]


class InMemoryAndOnTheModel(TableMachine):
    def open_tables(self) -> Sequence[Table]:
        self._client = wire.connect_to(Database(lambda: NOW).call)
        return [MemoryTable(), fresh_table(self._client)]

    def teardown(self) -> None:
        wire.let_go(self._client)


@pytest.mark.timeout(LONG)
def test_the_table_in_memory_does_as_the_reference() -> None:
    run_state_machine_as_test(InMemory, settings=sized(examples=40, steps=40))


@pytest.mark.timeout(LONG)
def test_dynamodb_in_this_process_does_as_the_table_in_memory() -> None:
    run_state_machine_as_test(InMemoryAndOnTheModel, settings=sized(examples=20, steps=30))


@pytest.mark.deep
@pytest.mark.dynoxide
@pytest.mark.timeout(LONG)
def test_a_real_engine_does_as_the_table_in_memory(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    client = make_client(dynoxide_endpoint)

    class InMemoryAndOnDynoxide(TableMachine):
        def open_tables(self) -> Sequence[Table]:
            return [MemoryTable(), fresh_table(client)]

    run_state_machine_as_test(InMemoryAndOnDynoxide, settings=sized(examples=20, steps=60, full=100))
