"""How Leasehold opens a DynamoDB client: retries and timeouts that suit short conditional writes, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.config import Config
    from mypy_boto3_dynamodb import DynamoDBClient


# A text of our own: botocore would put its own together twice for every call, which is a tenth of its CPU.
USER_AGENT = "leasehold"


def connect(*, open_client: Callable[..., Any] | None = None, **where: Any) -> DynamoDBClient:
    """A low-level client; `where` is what boto3's takes, e.g. `region_name`.

    boto3 is imported here, so that importing Leasehold does not pay for it.
    """
    from botocore.config import Config

    if open_client is None:
        import boto3

        open_client = boto3.client
    config = table_config().merge(where.pop("config", Config()))
    client: DynamoDBClient = open_client("dynamodb", config=config, **where)
    return client


def table_config() -> Config:
    """How often a call is tried, how long each try may take, and that its parameters are not checked once more."""
    from botocore.config import Config

    return Config(
        user_agent=USER_AGENT,
        retries={"mode": "standard", "total_max_attempts": 5},
        connect_timeout=2,
        read_timeout=5,
        max_pool_connections=16,
        tcp_keepalive=True,
        # A tenth of a call's CPU. Requests are made by this library, of values that were checked before; what callers
        # bring along is checked by `check_foreign`.
        parameter_validation=False,
    )
