"""One table and one world per test, on every store in turn. Clients are made once per process."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from moto import mock_aws

from leasehold.kernel.dynamodb.table import DynamoTable
from leasehold.kernel.memory import MemoryTable
from tests.contract.engines import ENGINES, fresh_table
from tests.contract.world import World
from tests.simulation.dynamodb.database import Database
from tests.simulation.dynamodb.wire import connect_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

    from leasehold.kernel.table import Table


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The name of the store that the test runs on."""
    return str(request.param)


@pytest.fixture(scope="session")
def dynoxide_client(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> DynamoDBClient:
    return make_client(dynoxide_endpoint)


@pytest.fixture(scope="session")
def ministack_client(ministack_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> DynamoDBClient:
    return make_client(ministack_endpoint)


@pytest.fixture(scope="session")
def model_client() -> DynamoDBClient:
    return connect_to(Database(lambda: datetime.now(UTC)).call, validates=True)


@pytest.fixture(scope="session")
def moto_client(aws_environment: None) -> Iterator[DynamoDBClient]:
    """Answers only while `mock_aws` is active; moto, imported above, hooks into clients that are made after it.

    Its parser breaks on the statements of a batch, with an AssertionError or a TypeError of its own in our process.
    Here it answers what an engine answers that does not know them, so that all goes the way without batches.
    """
    client = boto3.client("dynamodb")
    refuse: Callable[..., Any] = refuse_statements
    for operation in ("BatchExecuteStatement", "ExecuteTransaction"):
        client.meta.events.register(f"before-call.dynamodb.{operation}", refuse)
    yield client
    client.close()


def refuse_statements(**_: object) -> tuple[AWSResponse, dict[str, Any]]:
    error = {"Code": "ValidationException", "Message": "moto does not read these statements"}
    return AWSResponse("", 400, HTTPHeaders(), None), {"Error": error}


@pytest.fixture
def table(engine: str, request: pytest.FixtureRequest) -> Iterator[Table]:
    """An empty table, behind the port that all stores share."""
    if engine == "memory":
        yield MemoryTable()
    elif engine == "moto":
        with mock_aws():
            yield fresh_table(request.getfixturevalue("moto_client"))
    else:
        yield fresh_table(request.getfixturevalue(f"{engine}_client"))


@pytest.fixture
def world(table: Table) -> World:
    return World(table)


@pytest.fixture
def client(engine: str, world: World, request: pytest.FixtureRequest) -> DynamoDBClient:
    """The client of a caller who has tables of its own next to ours."""
    assert isinstance(world.table, DynamoTable)
    found: DynamoDBClient = request.getfixturevalue(f"{engine}_client")
    return found


# What the port promises is shown in memory, on the in-process DynamoDB and on dynoxide, always; the rest runs in the
# first two, since the second answers as the engines do (tests/simulation). On further engines all of it runs in
# `make test-deep`. So do the finer points of features, which only combine what the scenarios have shown.
_OF_THE_PORT = (
    "test_table_",
    "test_transitions",
    "test_lost_responses",
    "test_leases",
    "test_deduplication",
    "test_bulk",
)
_FURTHER = {"moto", "ministack"}
_FINER_POINTS = (
    *("test_bad_templates", "test_jobs_from_templates", "test_template_schedules", "test_moving_", "test_order"),
    *("test_group_creation", "test_direct_run_failures", "test_direct_runs_of_the_dead", "test_circuits_by_hand"),
    *("test_lost_probes", "test_listing", "test_lifecycle_events", "test_backfill_looks", "test_retention"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name = item.path.name
        if item.path.parent.name != "contract":
            continue
        engine = getattr(item, "callspec", None) and item.callspec.params.get("engine")  # type: ignore[attr-defined]
        is_fine = engine == "model" and name.startswith(_FINER_POINTS)
        is_scenario_on_an_engine = engine == "dynoxide" and not name.startswith(_OF_THE_PORT)
        if engine in _FURTHER or is_scenario_on_an_engine or is_fine:
            item.add_marker(pytest.mark.deep)
