"""Clients of deployed functions, opened as quickly as botocore can: a cold start waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.store.dynamodb.connection import table_config

if TYPE_CHECKING:
    from botocore.config import Config
    from mypy_boto3_dynamodb import DynamoDBClient


def connect() -> DynamoDBClient:
    """A DynamoDB client with the patience that suits the tables."""
    client: DynamoDBClient = open_client("dynamodb", table_config())
    return client


def open_client(service: str, config: Config) -> Any:
    """What `boto3.client` would return. A function needs neither boto3's resources nor a list of all services."""
    from botocore.loaders import Loader
    from botocore.session import get_session

    class KnownService(Loader):
        """botocore looks through the folders of all its services to see whether it knows the one that is wanted."""

        def list_available_services(self, type_name: str) -> list[str]:
            return [service]

    session = get_session()
    if not session.get_config_variable("data_path"):
        session.register_component("data_loader", KnownService())
    return session.create_client(service, config=config)
