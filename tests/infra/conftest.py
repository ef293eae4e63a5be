"""The stacks are synthesised once for all tests: tests/conftest.py sends these to one process of the test run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

    from tests.infra.played import Played

# Set before the first import of aws_cdk, which starts Node and would print its banner into every test run.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
            # The first test that needs a template waits for jsii, which may share the machine with others.
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def played(dynoxide_endpoint: str, make_client: Callable[[str], DynamoDBClient]) -> Played:
    """What the deployed functions called and printed while all scenarios were played."""
    from tests.infra.played import play

    return play(make_client(dynoxide_endpoint))
