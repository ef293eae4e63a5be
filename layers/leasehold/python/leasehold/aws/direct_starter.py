"""Direct runs are done by a function of their own, which may take longer than a request."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from leasehold.domain.errors import DispatchError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

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
