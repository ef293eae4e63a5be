"""A real boto3 client whose calls end in this process: botocore's own serializing, retries, parsing and errors.

    client = connect_to(database.call)

A client takes 50 ms to make and is as good as new once it is let go: simulated processes take one with `connect_to`
and give it back with `let_go`. What a client remembers between calls, its retry quota, is full again then. Nothing
global is patched: pauses and jitter of the retries are the client's own.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, cast

import botocore.session
from botocore import UNSIGNED
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.retries import standard

from tests.simulation.dynamodb.refusal import Refusal
from tests.simulation.dynamodb.shortcuts import take_shortcuts

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_dynamodb import DynamoDBClient

type Deliver = Callable[[str, dict[str, Any]], dict[str, Any]]

_TRIES = 5
_free: list[DynamoDBClient] = []
_session = botocore.session.Session()


def connect_to(
    deliver: Deliver,
    *,
    sleep: Callable[[float], None] = lambda _seconds: None,
    random_source: Callable[[], float] = random.random,
    validates: bool = False,
) -> DynamoDBClient:
    """A client whose calls go to `deliver(operation, request)`, which answers, or raises.

    A `Refusal` becomes DynamoDB's error answer. Whatever else is raised passes through botocore: its own network errors
    are retried, a BaseException means that the process is gone. `sleep` is what a retry does before it tries again,
    `chance` its jitter: seed it where a run has to repeat itself. `validates`: botocore checks every parameter against
    its model of the service, as it does by default; a simulation of millions of calls has no time for it.
    """
    client = _free.pop() if _free and not validates else _new_client(validates=validates)
    cast("Any", client)._endpoint.http_session.aim(deliver, sleep, random_source)
    return client


def let_go(client: DynamoDBClient) -> None:
    """The process is gone; its client may serve another."""
    cast("Any", client)._endpoint.http_session.aim(_nowhere, None, random.random)
    _free.append(client)


def renew(client: DynamoDBClient) -> None:
    """Let the next process use this client as if it were its own: with all of its retries to spend."""
    cast("Any", client)._endpoint.http_session.refill()


def _nowhere(operation: str, _request: dict[str, Any]) -> dict[str, Any]:
    raise RuntimeError(f"{operation} through a client that was let go")


class _InProcess:
    """Stands where botocore has its HTTP session, and where its retry handler was."""

    def __init__(self, retries: standard.RetryHandler) -> None:
        self._retries = cast("Any", retries)
        self._deliver: Deliver = _nowhere
        self._sleep: Callable[[float], None] | None = None
        self._random_source: Callable[[], float] = random.random

    def aim(self, deliver: Deliver, sleep: Callable[[float], None] | None, random_source: Callable[[], float]) -> None:
        self._deliver, self._sleep, self._random_source = deliver, sleep, random_source
        self._retries._retry_policy._retry_backoff._random = random_source
        self.refill()

    def refill(self) -> None:
        quota = self._retries._retry_quota._quota
        quota._available_capacity = quota._max_capacity

    def send(self, request: Any) -> AWSResponse:
        operation = request.headers["X-Amz-Target"].decode().rpartition(".")[2]
        try:
            answer, status = self._deliver(operation, json.loads(request.body)), 200
        except Refusal as refusal:
            kind = f"com.amazonaws.dynamodb.v20120810#{refusal.code}"
            answer, status = {"__type": kind, "message": refusal.message, **refusal.fields}, refusal.status
        return AWSResponse(request.url, status, _HEADERS, _Body(json.dumps(answer).encode()))

    def needs_retry(self, **event: Any) -> float | None:
        """What botocore decides; but the pause is ours, and none is left to its endpoint."""
        pause = self._retries.needs_retry(**event)
        if pause is None:
            return None
        if self._sleep is not None:
            self._sleep(pause)
        return 0

    def name_transaction(self, params: dict[str, Any], **_event: Any) -> None:
        """botocore gives a transaction without a token a random one, which no run could repeat."""
        if "ClientRequestToken" not in params:
            params["ClientRequestToken"] = f"simulated-{int(self._random_source() * 2**53):014x}"

    def close(self) -> None:
        """There is no connection to close."""


class _Body:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> list[bytes]:
        return [self._content]


_HEADERS = HTTPHeaders()


def _new_client(*, validates: bool) -> DynamoDBClient:
    config = Config(
        retries={"mode": "standard", "total_max_attempts": _TRIES},
        signature_version=UNSIGNED,
        parameter_validation=validates,
    )
    client: Any = _session.create_client(
        "dynamodb", region_name="us-east-1", endpoint_url="http://simulated", config=config
    )
    events = client.meta.events
    events.unregister("needs-retry.dynamodb", unique_id="retry-config-dynamodb")
    retries = standard.register_retry_handler(client, max_attempts=_TRIES)
    events.unregister("needs-retry.dynamodb", unique_id="retry-config-dynamodb")
    session = _InProcess(retries)
    events.register("needs-retry.dynamodb", session.needs_retry)
    events.register("before-parameter-build.dynamodb.TransactWriteItems", session.name_transaction)
    client._endpoint.http_session = session
    if not validates:
        take_shortcuts(client)
    return cast("DynamoDBClient", client)
