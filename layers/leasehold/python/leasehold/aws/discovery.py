"""Where a queue is: what a program's environment says, or what the deployment published in SSM under its name."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from leasehold.aws import names as variables
from leasehold.aws.clients import boto3_client
from leasehold.kernel.dynamodb.table import TableNames
from leasehold.kernel.errors import InvalidOptionError, RefusedError, StoreError, shown
from leasehold.lean import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueAddress:
    queue_name: str
    jobs_table: str
    dead_letters_table: str


def from_environment(environment: Mapping[str, str] = os.environ) -> QueueAddress:
    """The one queue that this function handles jobs of, or was granted something of."""
    found = _granted(environment)
    jobs, dead_letters = environment.get(variables.JOBS_TABLE), environment.get(variables.DEAD_LETTERS_TABLE)
    if jobs and dead_letters:
        own_name = environment.get(variables.QUEUE_NAME) or ""
        own = QueueAddress(queue_name=own_name, jobs_table=jobs, dead_letters_table=dead_letters)
        found[own.queue_name] = own
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise InvalidOptionError(
            None,
            "the environment names no queue",
            'Grant this function something of one (jobs.grant_enqueue(function, ...)), or name it: Queue.connect("…").',
        )
    names = ", ".join(sorted(found))
    raise InvalidOptionError(names, "the environment names several queues", "Name one of them: Queue.connect(name).")


def named(
    queue_name: str,
    environment: Mapping[str, str] = os.environ,
    *,
    open_client: Callable[..., Any] | None = None,
    endpoint_url: str | None = None,
    region_name: str | None = None,
) -> QueueAddress:
    """The queue of that name: from the environment where it stands there, else from its parameter in SSM."""
    granted = _granted(environment)
    if queue_name in granted:
        return granted[queue_name]
    from botocore.exceptions import ClientError

    client = (open_client or boto3_client())("ssm", endpoint_url=endpoint_url, region_name=region_name)
    name = variables.discovery_parameter(queue_name)
    try:
        value = client.get_parameter(Name=name)["Parameter"]["Value"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            raise QueueNotFoundError(queue_name, name) from None
        raise StoreError(f"{name} cannot be read: {error}. Allow it: jobs.grant_discover(...).") from error
    address = _address(queue_name, value)
    if address is None:
        raise InvalidOptionError(queue_name, f"the parameter {name} is no queue's", "Use another queue_name.")
    return address


def tables_of(queue_name: str | None, **where: Any) -> TableNames:
    found = from_environment() if queue_name is None else named(queue_name, **where)
    return TableNames(jobs=found.jobs_table, dead_letters=found.dead_letters_table)


def all_published(client: Any) -> list[QueueAddress]:
    """Every queue of this account and region."""
    pages = client.get_paginator("get_parameters_by_path").paginate(Path=variables.discovery_parameter("")[:-1])
    found = []
    for each in (parameter for page in pages for parameter in page["Parameters"]):
        queue_name = each["Name"].rpartition("/")[2]
        if each["Name"] == variables.discovery_parameter(queue_name):
            address = _address(queue_name, each["Value"])
            found += [address] if address else []
    return sorted(found, key=lambda each: each.queue_name)


def _granted(given: Mapping[str, str]) -> dict[str, QueueAddress]:
    values = (value for name, value in given.items() if name.startswith(variables.TABLES_PREFIX))
    addresses = (_address("", value) for value in values)
    return {address.queue_name: address for address in addresses if address}


def _address(queue_name: str, value: str) -> QueueAddress | None:
    try:
        names = json.loads(value)
        return QueueAddress(
            queue_name=names.get("queue_name", queue_name),
            jobs_table=names["jobs_table"],
            dead_letters_table=names["dead_letters_table"],
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


class QueueNotFoundError(RefusedError, code="queue_not_found"):
    def __init__(self, queue_name: str, parameter: str) -> None:
        super().__init__(
            f"there is no queue {shown(queue_name)} in this account and region: nothing published {parameter}. "
            "Deploy it, or check its queue_name, the region and the credentials."
        )
