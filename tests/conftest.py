"""What every test may use: dummy AWS settings, and real engines on loopback ports, one per test process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.config import Config

from leasehold.local import servers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

ROOT = Path(__file__).parent.parent
REGION = "us-east-1"


@pytest.fixture(scope="session", autouse=True)
def aws_environment() -> Iterator[None]:
    """Dummy credentials and a region, nothing of the developer's own: no test can reach a real account."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_ACCESS_KEY_ID", "leasehold-tests")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "leasehold-tests")
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        patch.setenv("AWS_REGION", REGION)
        patch.setenv("AWS_CONFIG_FILE", os.devnull)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(scope="session")
def dynoxide_endpoint(aws_environment: None) -> Iterator[str]:
    """The address of a real DynamoDB engine; its tables last for the session, so name them apart."""
    if not servers.dynoxide_is_built_for_this_machine():
        pytest.skip("dynoxide has no build for this machine: these tests need Linux x86_64")
    with servers.dynoxide(root=ROOT) as server:
        yield server.endpoint


@pytest.fixture(scope="session")
def ministack_endpoint(aws_environment: None) -> Iterator[str]:
    """The address of a local AWS; what is made in it lasts for the session."""
    with servers.ministack(root=ROOT) as server:
        yield server.endpoint


@pytest.fixture(scope="session")
def make_client(aws_environment: None) -> Iterator[Callable[[str], DynamoDBClient]]:
    """Make a DynamoDB client for an endpoint; every client is closed at the end of the session."""
    session = boto3.Session()
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 3},
        connect_timeout=2,
        read_timeout=10,
        max_pool_connections=32,
    )
    clients: list[DynamoDBClient] = []

    def make(endpoint: str) -> DynamoDBClient:
        clients.append(session.client("dynamodb", endpoint_url=endpoint, config=config))
        return clients[-1]

    yield make
    for client in clients:
        client.close()
