"""Hand-overs by asynchronous Lambda invokes."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from leasehold.aws import names as variables
from leasehold.aws.api_access import Access
from leasehold.aws.clients import open_client
from leasehold.aws.names import FREED_SOURCE
from leasehold.kernel.dynamodb.connection import USER_AGENT
from leasehold.kernel.errors import DispatchError, InvalidOptionError
from leasehold.kernel.ports import batch_event
from leasehold.pool import MOST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mypy_boto3_lambda import LambdaClient

    from leasehold.kernel.ports import Handover


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

    # Less in all than what a poller keeps back of its time for hand-overs that hang: see aws/polling.py.
    config = Config(
        user_agent=USER_AGENT,
        parameter_validation=False,
        retries={"mode": "standard", "total_max_attempts": 2},
        connect_timeout=2,
        read_timeout=4,
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


RUN_ID = "direct_run_id"


class LambdaStarter:
    def __init__(self, client: LambdaClient, function: str) -> None:
        self._client = client
        self._function = function

    def start(self, run_id: str) -> None:
        payload = json.dumps({RUN_ID: run_id}).encode()
        try:
            self._client.invoke(FunctionName=self._function, InvocationType="Event", Payload=payload)
        except (BotoCoreError, ClientError) as error:
            raise DispatchError(f"the direct run {run_id} was not started: {error}") from error


class LambdaWaker:
    """Connects with the first wake: most ends free nothing that anybody waits for."""

    is_on = True

    def __init__(self, function: str, dispatcher: LambdaDispatcher | None = None) -> None:
        self._function = function
        self._dispatcher = dispatcher

    def wake(self, scopes: Sequence[str]) -> None:
        if self._dispatcher is None:
            self._dispatcher = LambdaDispatcher(connect_lambda())
        event = {"source": FREED_SOURCE, "scopes": list(scopes)}
        self._dispatcher.invoke(self._function, json.dumps(event).encode())


def access_of(environment: Mapping[str, str] = os.environ) -> Access:
    return Access.from_text(_required_for_the_api(variables.API_ACCESS, environment))


def starter_of(environment: Mapping[str, str] = os.environ) -> LambdaStarter:
    return LambdaStarter(connect_lambda(), _required_for_the_api(variables.DIRECT_RUNNER, environment))


def _required_for_the_api(name: str, given: Mapping[str, str]) -> str:
    value = given.get(name)
    if not value:
        raise InvalidOptionError(value, f"the environment variable {name} is not set", "The stacks set it: deploy.")
    return value
