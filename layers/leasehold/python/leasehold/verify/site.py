"""The deployment as its account shows it: the functions of a queue, what each is for, and its role's policies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from leasehold.aws import names as variables
from leasehold.aws.job_logs import log_events
from leasehold.kernel.type_options import DELIVERY
from leasehold.verify.report import Wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from leasehold.queue import Queue

PROBE = "leasehold_probe"
# Kinds of functions that are in no registry, but in the function's name.
_NAMED = ("reporter", "trigger")


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """kind: poller, handler, sender, reporter, trigger, or other. job_type: whose handler it is."""

    kind: str
    job_type: str | None
    environment: Mapping[str, str]
    configuration: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.configuration["FunctionName"])

    @property
    def role(self) -> str:
        return str(self.configuration["Role"]).rpartition("/")[2]

    @property
    def log_group(self) -> str:
        return self.configuration.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{self.name}"


class Site:
    def __init__(
        self, queue: Queue, client: Callable[[str], Any], *, name: str, tables: tuple[str, str], is_local: bool = False
    ) -> None:
        self.name = name
        self.queue = queue
        self.client = client
        self.jobs_table, self.dead_letters_table = tables
        self.is_local = is_local
        self.table = cache(lambda name: client("dynamodb").describe_table(TableName=name)["Table"])

    def arn(self, place: str) -> str:
        """Of `jobs` or `dead_letters`, or of an index of theirs behind a slash."""
        table, _, index = place.partition("/")
        arn = self.table(self.jobs_table if table == "jobs" else self.dead_letters_table)["TableArn"]
        return f"{arn}/{index}" if index else str(arn)

    @cached_property
    def functions(self) -> list[Function]:
        """All functions that work on this queue's table: their environment names it."""
        registry = self.queue.services.deployment.registry()
        handlers = {each.function: name for name, each in registry.types.items() if each.function}
        found = [self._function(each, handlers) for each in self.all("lambda", "list_functions", "Functions")]
        return sorted((each for each in found if each is not None), key=lambda each: each.name)

    def _function(self, listed: dict[str, Any], handlers: Mapping[str, str]) -> Function | None:
        environment = listed.get("Environment", {}).get("Variables", {})
        if environment.get(variables.JOBS_TABLE) != self.jobs_table:
            return None
        job_type = handlers.get(listed["FunctionName"])
        if variables.POLL_LIMIT in environment:
            kind = "poller"
        elif job_type is not None:
            kind = "sender" if job_type == DELIVERY else "handler"
        else:
            kind = next((each for each in _NAMED if each in listed["FunctionName"].lower()), "other")
        return Function(kind=kind, job_type=job_type, environment=environment, configuration=listed)

    def all(self, service: str, operation: str, items: str, **options: Any) -> Iterator[dict[str, Any]]:
        """What an operation lists, of all its pages."""
        pages = self.client(service).get_paginator(operation).paginate(**options)
        return (each for page in pages for each in page[items])

    def log_events(self, function: Function, since: datetime, **options: Any) -> Iterator[str]:
        """What a function has logged; nothing of one that has never run."""
        start = int(since.timestamp() * 1000)
        found = log_events(self.client("logs"), function.log_group, startTime=start, **options)
        return (each["message"] for each in found)

    @property
    def poller(self) -> Function:
        found = [each for each in self.functions if each.kind == "poller"]
        if not found:
            raise Wrong(f"no poller works on {self.jobs_table}. Deploy it, with this version of Leasehold.")
        return found[0]

    def policies_of(self, function: Function) -> list[dict[str, Any]]:
        """All that its role allows."""
        iam, role = self.client("iam"), function.role
        names = iam.list_role_policies(RoleName=role)["PolicyNames"]
        policies = [iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names]
        for each in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
            version = iam.get_policy(PolicyArn=each["PolicyArn"])["Policy"]["DefaultVersionId"]
            answer = iam.get_policy_version(PolicyArn=each["PolicyArn"], VersionId=version)
            policies.append(answer["PolicyVersion"]["Document"])
        return [json.loads(each) if isinstance(each, str) else each for each in policies]
