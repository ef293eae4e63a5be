"""Who we are, as AWS knows us: asked when something is done that is recorded, not before."""

from __future__ import annotations

from typing import Any

from leasehold.domain.errors import IdentityUnknownError


class CallerIdentity:
    """The ARN behind the credentials of this process. AWS lets everybody ask for their own."""

    def __init__(self, **connection: Any) -> None:
        """`connection` is what boto3.client takes besides the name of the service."""
        self._connection = connection
        self._actor: str | None = None

    def actor(self) -> str:
        if self._actor is None:
            self._actor = self._ask()
        return self._actor

    def _ask(self) -> str:
        import boto3
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return str(boto3.client("sts", **self._connection).get_caller_identity()["Arn"])
        except (BotoCoreError, ClientError) as error:
            raise IdentityUnknownError(str(error)) from error
