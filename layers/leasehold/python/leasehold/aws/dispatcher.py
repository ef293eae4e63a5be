"""Hand-overs by asynchronous Lambda invokes."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from leasehold.aws.clients import open_client
from leasehold.domain.errors import DispatchError
from leasehold.domain.handover import batch_event
from leasehold.kernel.pool import MOST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy_boto3_lambda import LambdaClient

    from leasehold.domain.handover import Handover

_ACCEPTED = 202


class LambdaOnDemand:
    """Connects with the first hand-over: most polls find nothing to hand over."""

    def __init__(self, connect: Callable[[], LambdaClient]) -> None:
        self._connect = connect
        self._client: LambdaClient | None = None
        self._lock = threading.Lock()

    def invoke(self, **request: Any) -> Any:
        with self._lock:  # hand-overs run side by side, the first ones too
            if self._client is None:
                self._client = self._connect()
        return self._client.invoke(**request)


def connect_lambda() -> LambdaClient:
    from botocore.config import Config

    config = Config(
        retries={"mode": "standard", "total_max_attempts": 3},
        connect_timeout=2,
        read_timeout=5,
        max_pool_connections=MOST,
    )
    client: LambdaClient = open_client("lambda", config)
    return client


class LambdaDispatcher:
    def __init__(self, client: LambdaClient | LambdaOnDemand) -> None:
        self._client = client

    def dispatch(self, handover: Handover, function: str | None) -> None:
        if function is None:
            raise DispatchError(f"the registry names no function for job type {handover.job_type!r}; deploy again")
        self.invoke(function, json.dumps(handover.to_event()).encode())

    def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
        if function is None:
            raise DispatchError(f"the registry names no function for job type {handovers[0].job_type!r}; deploy again")
        self.invoke(function, json.dumps(batch_event(handovers)).encode())

    def invoke(self, function: str, payload: bytes) -> None:
        """Start a function without waiting for it."""
        try:
            answer = self._client.invoke(FunctionName=function, InvocationType="Event", Payload=payload)
        except (ClientError, BotoCoreError) as error:
            raise DispatchError(f"function {function!r} was not reached: {error}") from error
        if answer["StatusCode"] != _ACCEPTED:
            raise DispatchError(f"function {function!r} answered {answer['StatusCode']} instead of {_ACCEPTED}")
