"""Ask deployed handlers what their payloads look like, by a synchronous invoke each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mypy_boto3_lambda import LambdaClient

    from leasehold.kernel.job_type import JobType

DESCRIBE = {"source": "leasehold.describe"}


def asking(client: LambdaClient) -> Callable[[JobType], Mapping[str, Any] | None]:
    """None of one that cannot be asked now: its reserve is used up, or Lambda does not answer."""

    def ask(job_type: JobType) -> Mapping[str, Any] | None:
        if job_type.function is None:
            return None
        try:
            answer = client.invoke(FunctionName=job_type.function, Payload=json.dumps(DESCRIBE).encode())
        except (ClientError, BotoCoreError):
            return None
        said: Any = json.loads(answer["Payload"].read() or b"null")
        if answer.get("FunctionError"):
            text = said.get("errorMessage") if isinstance(said, dict) else said
            return {"error": f"its function failed before it could answer: {text}"}
        return said if isinstance(said, dict) and ("error" in said or "shape" in said) else None

    return ask


def connect_to_ask() -> LambdaClient:
    from botocore.config import Config

    from leasehold.aws.clients import open_client

    config = Config(retries={"mode": "standard", "total_max_attempts": 4}, connect_timeout=2, read_timeout=40)
    client: LambdaClient = open_client("lambda", config)
    return client
