"""How Leasehold opens a DynamoDB client: retries and timeouts that suit short conditional writes, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from botocore.config import Config
    from mypy_boto3_dynamodb import DynamoDBClient


def connect(*, endpoint_url: str | None = None, region_name: str | None = None, **overrides: Any) -> DynamoDBClient:
    """A low-level client. boto3 is imported here, so that importing Leasehold does not pay for it."""
    import boto3
    from botocore.config import Config

    config = table_config().merge(overrides.pop("config", Config()))
    return boto3.client("dynamodb", endpoint_url=endpoint_url, region_name=region_name, config=config, **overrides)


def table_config() -> Config:
    """How often a call is tried, how long each try may take, and that its parameters are not checked once more."""
    from botocore.config import Config

    return Config(
        retries={"mode": "standard", "total_max_attempts": 5},
        connect_timeout=2,
        read_timeout=5,
        max_pool_connections=16,
        tcp_keepalive=True,
        # A tenth of a call's CPU. Requests are made by this library, of values that were checked before; what callers
        # bring along is checked in foreign.py.
        parameter_validation=False,
    )
