"""Look into a local AWS: what is deployed, what its functions log, and call one of them by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from leasehold.aws import job_logs
from leasehold.aws import names as variables
from leasehold.kernel.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leasehold.aws.job_logs import LogLine
    from leasehold.local.aws.instance import Running

_BOOTSTRAP = "CDKToolkit"
# A poller that waits for what falls due answers after more than a minute; asking twice would run it twice.
_CONFIG = Config(read_timeout=180, retries={"total_max_attempts": 1})


def client(running: Running, service: str) -> Any:
    """A client of any service of this local AWS."""
    return boto3.Session().client(service, config=_CONFIG, **running.client_options)  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class DeployedFunction:
    """name: that people know it by, e.g. poller; real_name: that CloudFormation gave it.

    handler: the module of a job type's handler; empty for others.
    """

    name: str
    queue_name: str
    real_name: str
    log_group: str
    handler: str


def deployed_functions(running: Running) -> list[DeployedFunction]:
    """The functions of all queues; where there are several queues, a name begins with its queue's."""
    pages = client(running, "lambda").get_paginator("list_functions").paginate()
    found = []
    for each in (function for page in pages for function in page["Functions"]):
        told = each.get("Environment", {}).get("Variables", {})
        if variables.FUNCTION in told:
            group = each.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{each['FunctionName']}"
            queue_name, handler = told.get(variables.QUEUE_NAME, ""), told.get(variables.HANDLER, "")
            found.append(DeployedFunction(told[variables.FUNCTION], queue_name, each["FunctionName"], group, handler))
    if len({each.queue_name for each in found}) > 1:
        found = [replace(each, name=f"{each.queue_name}/{each.name}") for each in found]
    return sorted(found, key=lambda each: each.name)


def stacks(running: Running) -> dict[str, str]:
    listed = client(running, "cloudformation").describe_stacks()["Stacks"]
    return {each["StackName"]: each["StackStatus"] for each in listed if each["StackName"] != _BOOTSTRAP}


def api_hosts(running: Running) -> dict[str, str]:
    """The HTTP APIs by name, each with the Host header by which a request to `running.endpoint` reaches it."""
    listed = client(running, "apigatewayv2").get_apis()["Items"]
    return {each["Name"]: f"{each['ApiId']}.execute-api.localhost:{running.port}" for each in listed}


def log_lines(running: Running, function: str | None = None, *, after_millis: int = 0) -> list[LogLine]:
    """What the functions logged, in order of time."""
    known = deployed_functions(running) if function is None else [deployed_function(running, function)]
    groups = [(each.name, each.log_group) for each in known]
    return job_logs.log_lines(client(running, "logs"), groups, startTime=after_millis)


def looks(read: Callable[[int], list[LogLine]], *, after_millis: int = 0) -> Iterator[list[LogLine]]:
    """At each look, the lines that were not there at an earlier one; `read` gets those from a moment on."""
    seen: set[LogLine] = set()
    while True:
        new = [line for line in dict.fromkeys(read(after_millis)) if line not in seen]
        seen.update(new)
        after_millis = max([after_millis, *(line.at_millis for line in new)])
        yield new


def invoke(running: Running, function: str, event: object) -> tuple[object, bool]:
    """Call a function as AWS would and wait for its answer; and whether that is an error."""
    name = deployed_function(running, function).real_name
    answer = client(running, "lambda").invoke(FunctionName=name, Payload=json.dumps(event).encode())
    return json.loads(answer["Payload"].read() or b"null"), "FunctionError" in answer


def deployed_function(running: Running, name: str) -> DeployedFunction:
    known = {each.name: each for each in deployed_functions(running)}
    if name not in known:
        deployed = ", ".join(known) or "none; run `leasehold local deploy`"
        raise InvalidOptionError(name, "no such function is deployed", f"Deployed are: {deployed}.")
    return known[name]
