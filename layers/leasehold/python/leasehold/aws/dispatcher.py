"""Hand-overs by asynchronous Lambda invokes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from leasehold.domain.errors import DispatchError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

    from leasehold.domain.handover import Handover

_ACCEPTED = 202


class LambdaDispatcher:
    def __init__(self, client: LambdaClient) -> None:
        self._client = client

    def dispatch(self, handover: Handover, function: str | None) -> None:
        if function is None:
            raise DispatchError(f"the registry names no function for job type {handover.job_type!r}; deploy again")
        self.invoke(function, json.dumps(handover.to_event()).encode())

    def invoke(self, function: str, payload: bytes) -> None:
        """Start a function without waiting for it."""
        try:
            answer = self._client.invoke(FunctionName=function, InvocationType="Event", Payload=payload)
        except (ClientError, BotoCoreError) as error:
            raise DispatchError(f"function {function!r} was not reached: {error}") from error
        if answer["StatusCode"] != _ACCEPTED:
            raise DispatchError(f"function {function!r} answered {answer['StatusCode']} instead of {_ACCEPTED}")
