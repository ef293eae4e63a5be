"""Synchronous Lambda invokes: direct runs, made once since a second invoke would run twice; questions to handlers."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, IncompleteReadError

from leasehold.aws.clients import boto3_client, open_client, tries
from leasehold.aws.names import DESCRIBE_SOURCE
from leasehold.direct_runs.model import COLD_START, DirectAnswer, DirectRunLostError
from leasehold.kernel.errors import DispatchError
from leasehold.kernel.keys import to_text
from leasehold.kernel.type_options import CLOCK_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import timedelta

    from mypy_boto3_lambda import LambdaClient

    from leasehold.direct_runs.model import DirectRun
    from leasehold.kernel.job_type import JobType

_REFUSED = range(400, 500)


class LambdaCaller:
    """`connect` opens a client that waits so long for an answer; by default as boto3 finds region and credentials."""

    def __init__(self, connect: Callable[[timedelta], LambdaClient] | None = None) -> None:
        self._connected = cache(connect or connect_patiently)

    def call(self, run: DirectRun, job_type: JobType) -> DirectAnswer:
        function = job_type.function
        if function is None:
            raise DispatchError(f"the registry names no function for job type {job_type.name!r}; deploy again")
        client = self._connected(job_type.timeout + COLD_START + CLOCK_TOLERANCE)
        payload = json.dumps(run.to_event()).encode()
        try:
            answer = client.invoke(FunctionName=function, InvocationType="RequestResponse", Payload=payload)
            body = answer["Payload"].read()
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] in _REFUSED:
                raise DispatchError(f"function {function!r} was not reached: {error}") from error
            raise _lost(run, error) from error
        except (HTTPClientError, IncompleteReadError) as error:
            raise _lost(run, error) from error
        except BotoCoreError as error:
            # What is left fails before the request is sent: no connection, no credentials.
            raise DispatchError(f"function {function!r} was not reached: {error}") from error
        document = json.loads(body or b"null")
        return _crashed(document) if answer.get("FunctionError") else DirectAnswer.from_document(document)


def connect_patiently(
    patience: timedelta, *, open_client: Callable[..., Any] | None = None, **options: Any
) -> LambdaClient:
    """A client that waits longer for an answer than the function can take, and asks once."""
    # A connection on which nothing is said for minutes is forgotten by what lies between.
    config = tries(1, read=patience.total_seconds(), connect=5, tcp_keepalive=True)
    return cast("LambdaClient", (open_client or boto3_client())("lambda", config=config, **options))


def _crashed(document: object) -> DirectAnswer:
    """The function itself ended before it could answer: its time was over, or its memory, or it never came up."""
    told = document if isinstance(document, dict) else {}
    return DirectAnswer(
        error=str(told.get("errorMessage") or "the function ended without a word; see its log"),
        error_code=str(told.get("errorType") or "function_error"),
    )


def _lost(run: DirectRun, error: Exception) -> DirectRunLostError:
    return DirectRunLostError(run.job_type, run.run_id, str(error), to_text(run.until))


def ask(client: LambdaClient, job_type: JobType) -> Mapping[str, Any] | None:
    """None of one that cannot be asked now: its reserve is used up, or Lambda does not answer."""
    if job_type.function is None:
        return None
    try:
        question = json.dumps({"source": DESCRIBE_SOURCE}).encode()
        answer = client.invoke(FunctionName=job_type.function, Payload=question)
    except (ClientError, BotoCoreError):
        return None
    said: Any = json.loads(answer["Payload"].read() or b"null")
    if answer.get("FunctionError"):
        text = said.get("errorMessage") if isinstance(said, dict) else said
        return {"error": f"its function failed before it could answer: {text}"}
    return said if isinstance(said, dict) and ("error" in said or "shape" in said) else None


def connect_to_ask() -> LambdaClient:
    return cast("LambdaClient", open_client("lambda", tries(4, read=40)))
