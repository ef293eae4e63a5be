"""Look into a local AWS: what is deployed, what its functions log, and call one of them by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3

from leasehold.domain.errors import InvalidOptionError
from leasehold.local.aws.instance import ACCESS_KEY, REGION, STAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.local.aws.instance import Running

_PREFIX = f"leasehold-{STAGE}-"
_LOG_PREFIX = f"/leasehold/{STAGE}/"


@dataclass(frozen=True, slots=True)
class LogLine:
    function: str
    at_millis: int
    text: str


def client(running: Running, service: str) -> Any:
    """A client of any service of this local AWS."""
    session = boto3.Session(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=ACCESS_KEY, region_name=REGION)
    return session.client(service, endpoint_url=running.endpoint)  # type: ignore[call-overload]


def functions(running: Running) -> list[str]:
    """The deployed functions by their short names."""
    listed = client(running, "lambda").list_functions()["Functions"]
    names = (function["FunctionName"] for function in listed)
    return sorted(name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))


def stacks(running: Running) -> dict[str, str]:
    listed = client(running, "cloudformation").describe_stacks()["Stacks"]
    return {each["StackName"]: each["StackStatus"] for each in listed if each["StackName"].startswith(_PREFIX)}


def log_lines(running: Running, function: str | None = None, *, after_millis: int = 0) -> Iterator[LogLine]:
    """What the functions logged, in order of time."""
    logs = client(running, "logs")
    groups = [group["logGroupName"] for group in logs.describe_log_groups(logGroupNamePrefix=_LOG_PREFIX)["logGroups"]]
    lines: list[LogLine] = []
    for group in groups:
        name = group.removeprefix(_LOG_PREFIX)
        if function is not None and name != function:
            continue
        for stream in logs.describe_log_streams(logGroupName=group)["logStreams"]:
            events = logs.get_log_events(
                logGroupName=group, logStreamName=stream["logStreamName"], startTime=after_millis, startFromHead=True
            )["events"]
            lines += [LogLine(name, event["timestamp"], event["message"].rstrip()) for event in events]
    yield from sorted(lines, key=lambda line: line.at_millis)


def invoke(running: Running, function: str, event: object) -> object:
    """Call a function as AWS would and return its answer."""
    known = functions(running)
    if function not in known:
        raise InvalidOptionError(function, "no such function is deployed", f"Deployed are: {', '.join(known)}.")
    answer = client(running, "lambda").invoke(FunctionName=_PREFIX + function, Payload=json.dumps(event).encode())
    return json.loads(answer["Payload"].read() or b"null")
