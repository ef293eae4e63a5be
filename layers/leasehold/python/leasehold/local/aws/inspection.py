"""Look into a local AWS: what is deployed, what its functions log, and call one of them by hand."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from leasehold.domain.errors import InvalidOptionError
from leasehold.local.aws.instance import STAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.local.aws.instance import Running

_PREFIX = f"leasehold-{STAGE}-"
_LOG_PREFIX = f"/leasehold/{STAGE}/"
# A poller that waits for what falls due answers after more than a minute; asking twice would run it twice.
_CONFIG = Config(read_timeout=180, retries={"total_max_attempts": 1})


@dataclass(frozen=True, slots=True)
class LogLine:
    function: str
    at_millis: int
    text: str


def client(running: Running, service: str) -> Any:
    """A client of any service of this local AWS."""
    return boto3.Session().client(service, config=_CONFIG, **running.client_options)  # type: ignore[call-overload]


def functions(running: Running) -> list[str]:
    """The deployed functions by their short names."""
    pages = client(running, "lambda").get_paginator("list_functions").paginate()
    names = (function["FunctionName"] for page in pages for function in page["Functions"])
    return sorted(name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))


def stacks(running: Running) -> dict[str, str]:
    listed = client(running, "cloudformation").describe_stacks()["Stacks"]
    return {each["StackName"]: each["StackStatus"] for each in listed if each["StackName"].startswith(_PREFIX)}


def log_lines(running: Running, function: str | None = None, *, after_millis: int = 0) -> Iterator[LogLine]:
    """What the functions logged, in order of time."""
    logs = client(running, "logs")
    names = functions(running) if function is None else [_known(running, function)]
    lines: list[LogLine] = []
    for name in names:
        with suppress(logs.exceptions.ResourceNotFoundException):
            pages = logs.get_paginator("filter_log_events").paginate(
                logGroupName=_LOG_PREFIX + name, startTime=after_millis
            )
            events = (event for page in pages for event in page["events"])
            lines += [LogLine(name, event["timestamp"], event["message"].rstrip()) for event in events]
    yield from sorted(lines, key=lambda line: line.at_millis)


@dataclass(frozen=True, slots=True)
class Answer:
    value: object
    is_error: bool


def invoke(running: Running, function: str, event: object) -> Answer:
    """Call a function as AWS would and wait for its answer."""
    name = _PREFIX + _known(running, function)
    answer = client(running, "lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
    return Answer(json.loads(answer["Payload"].read() or b"null"), is_error="FunctionError" in answer)


def _known(running: Running, function: str) -> str:
    known = functions(running)
    if function not in known:
        deployed = ", ".join(known) or "none; run `leasehold local deploy`"
        raise InvalidOptionError(function, "no such function is deployed", f"Deployed are: {deployed}.")
    return function
