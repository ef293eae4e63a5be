"""Hand-overs by asynchronous Lambda invokes."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import BotoCoreError, ClientError

from leasehold.aws.clients import open_client, tries
from leasehold.aws.handovers import handover_event
from leasehold.aws.names import FREED_SOURCE
from leasehold.kernel.dynamodb.connection import USER_AGENT
from leasehold.kernel.errors import DispatchError
from leasehold.pool import MOST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mypy_boto3_lambda import LambdaClient

    from leasehold.kernel.ports import Handover


_ACCEPTED = 202


def connect_lambda() -> LambdaClient:
    # Less in all than what a poller keeps back of its time for hand-overs that hang: see aws/polling.py.
    config = tries(2, read=4, user_agent=USER_AGENT, parameter_validation=False, max_pool_connections=MOST)
    return cast("LambdaClient", open_client("lambda", config))


class LambdaDispatcher:
    """Connects with the first hand-over: most polls find nothing to hand over, most ends free no seat."""

    def __init__(self, client: LambdaClient | None = None) -> None:
        self._client = client
        self._lock = threading.Lock()

    def dispatch(self, handover: Handover, function: str | None) -> None:
        self._hand_over(handover.job_type, function, handover_event(handover))

    def dispatch_batch(self, handovers: Sequence[Handover], function: str | None) -> None:
        # An invocation is told its type before it looks at its jobs.
        job_type = handovers[0].job_type
        self._hand_over(
            job_type, function, {"job_type": job_type, "batch": [handover_event(each) for each in handovers]}
        )

    def _hand_over(self, job_type: str, function: str | None, event: Mapping[str, Any]) -> None:
        if function is None:
            raise DispatchError(f"the registry names no function for job type {job_type!r}; deploy again")
        self.invoke(function, json.dumps(event).encode())

    def invoke(self, function: str, payload: bytes) -> None:
        """Start a function without waiting for it."""
        try:
            answer = self._connected().invoke(FunctionName=function, InvocationType="Event", Payload=payload)
        except (ClientError, BotoCoreError) as error:
            raise DispatchError(f"function {function!r} was not reached: {error}") from error
        if answer["StatusCode"] != _ACCEPTED:
            raise DispatchError(f"function {function!r} answered {answer['StatusCode']} instead of {_ACCEPTED}")

    def _connected(self) -> LambdaClient:
        with self._lock:  # hand-overs run side by side, the first ones too
            self._client = self._client or connect_lambda()
        return self._client


# What the direct runner is given.
RUN_ID = "direct_run_id"


def start_direct_run(dispatcher: LambdaDispatcher, function: str, run_id: str) -> None:
    dispatcher.invoke(function, json.dumps({RUN_ID: run_id}).encode())


def wake_poller(dispatcher: LambdaDispatcher, function: str, scopes: Sequence[str]) -> None:
    dispatcher.invoke(function, json.dumps({"source": FREED_SOURCE, "scopes": list(scopes)}).encode())
