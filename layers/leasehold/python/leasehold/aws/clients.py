"""Clients of deployed functions, opened as quickly as botocore can: a cold start waits for them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from leasehold.kernel.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.config import Config

    from leasehold.aws.container import Container


# Set by Lambda, and by nothing else: whoever imports a handler to test it gets no connection.
_IN_LAMBDA = "AWS_LAMBDA_FUNCTION_NAME"


def warm(container: Callable[[], Container]) -> None:
    """Connect, and read what every run reads first: the only thing that an entry does at import, and only in Lambda.

    A function starts with a whole core and is invoked with its share of one, so what all its runs need is opened at
    the start.
    """
    if _IN_LAMBDA in os.environ:
        with suppress(Exception):  # the invocation will meet it again, and there it is told
            container().services.deployment.registry()


def open_client(service: str, config: Config) -> Any:
    """What `boto3.client` would return."""
    return lean_session().create_client(service, config=config)


def tries(attempts: int, *, read: float, connect: float = 2, **options: Any) -> Config:
    """So many, each with so many seconds to connect and to wait for an answer."""
    from botocore.config import Config

    retries: Any = {"mode": "standard", "total_max_attempts": attempts}
    return Config(retries=retries, connect_timeout=connect, read_timeout=read, **options)


def lean_session(profile: str | None = None) -> Any:
    """botocore's own: a function or a command needs neither boto3's resources nor a list of all services."""
    from botocore.loaders import Loader
    from botocore.session import Session

    class KnownServices(Loader):
        """botocore looks through the folders of all its services to see whether it knows the one that is wanted."""

        def list_available_services(self, type_name: str) -> list[str]:
            return ["dynamodb", "lambda", "scheduler", "secretsmanager", "ssm", "sts"]

    session = Session(profile=profile)
    if not session.get_config_variable("data_path"):
        session.register_component("data_loader", KnownServices())
    return session


def boto3_client() -> Callable[..., Any]:
    """boto3 as its user set it up; who has another way to open clients need not wait for its import."""
    import boto3

    return boto3.client


class CallerIdentity:
    """The ARN behind the credentials of this process. AWS lets everybody ask for their own."""

    def __init__(self, open_client: Callable[..., Any] | None = None, **connection: Any) -> None:
        """`connection` is what `open_client`, which is by default boto3's, takes besides the name of the service."""
        self._open_client = open_client
        self._connection = connection
        self._actor: str | None = None

    def actor(self) -> str:
        if self._actor is None:
            from botocore.exceptions import BotoCoreError, ClientError

            try:
                client = (self._open_client or boto3_client())("sts", **self._connection)
                self._actor = str(client.get_caller_identity()["Arn"])
            except (BotoCoreError, ClientError) as error:
                raise IdentityUnknownError(str(error)) from error
        return self._actor


class IdentityUnknownError(RefusedError, code="identity_unknown"):
    def __init__(self, problem: str) -> None:
        super().__init__(
            f"AWS does not say who you are ({problem}), and what is done here is recorded with who did it. "
            "Check the credentials: `aws sts get-caller-identity` must answer."
        )
