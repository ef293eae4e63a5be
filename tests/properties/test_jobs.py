"""Every store moves jobs by the transition table and by nothing else, whoever writes and however often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis.stateful import run_state_machine_as_test

from leasehold.kernel.memory import MemoryTable
from tests.contract.engines import fresh_table
from tests.properties.job_machine import JobMachine
from tests.properties.profiles import sized
from tests.properties.test_tables import LONG, NOW
from tests.simulation.dynamodb import wire
from tests.simulation.dynamodb.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.table import Table


class InMemoryAndOnTheModel(JobMachine):
    def open_tables(self) -> Sequence[Table]:
        self._client = wire.connect_to(Database(lambda: NOW).call)
        return [MemoryTable(), fresh_table(self._client)]

    def teardown(self) -> None:
        wire.let_go(self._client)


@pytest.mark.timeout(LONG)
def test_jobs_move_by_the_transition_table_alone() -> None:
    run_state_machine_as_test(InMemoryAndOnTheModel, settings=sized(examples=20, steps=40))


@pytest.mark.deep
@pytest.mark.dynoxide
@pytest.mark.timeout(LONG)
def test_jobs_on_a_real_engine_move_by_the_transition_table_alone(
    dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]
) -> None:
    client = make_client(dynoxide_endpoint)

    class InMemoryAndOnDynoxide(JobMachine):
        def open_tables(self) -> Sequence[Table]:
            return [MemoryTable(), fresh_table(client)]

    run_state_machine_as_test(InMemoryAndOnDynoxide, settings=sized(examples=20, steps=60, full=100))
