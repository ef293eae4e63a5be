"""The deployment as its account shows it: the functions of a queue, what each is for, and its role's policies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from leasehold.aws import names as variables
from leasehold.kernel.type_options import DELIVERY
from leasehold.verify.report import Wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leasehold.queue import Queue

PROBE = "leasehold_probe"
# What the names of functions that are in no registry tell.
_KINDS = {"reporter": "reporter", "trigger": "trigger"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """kind: poller, handler, sender, reporter, trigger, or other. job_type: whose handler it is."""

    name: str
    arn: str
    role: str
    kind: str
    job_type: str | None
    environment: Mapping[str, str]
    configuration: Mapping[str, Any]


class Site:
    def __init__(
        self, queue: Queue, client: Callable[[str], Any], *, name: str, tables: tuple[str, str], is_local: bool = False
    ) -> None:
        self.name = name
        self.queue = queue
        self.client = client
        self.jobs_table, self.dead_letters_table = tables
        self.is_local = is_local

    @cached_property
    def functions(self) -> list[Function]:
        """All functions that work on this queue's table: their environment names it."""
        registry = self.queue.services.deployment.registry()
        handlers = {each.function: name for name, each in registry.types.items() if each.function}
        pages = self.client("lambda").get_paginator("list_functions").paginate()
        found = [self._function(each, handlers) for page in pages for each in page["Functions"]]
        return sorted((each for each in found if each is not None), key=lambda each: each.name)

    def _function(self, listed: dict[str, Any], handlers: Mapping[str, str]) -> Function | None:
        environment = listed.get("Environment", {}).get("Variables", {})
        if environment.get(variables.JOBS_TABLE) != self.jobs_table:
            return None
        name = listed["FunctionName"]
        job_type = handlers.get(name)
        if variables.POLL_LIMIT in environment:
            kind = "poller"
        elif job_type == DELIVERY:
            kind = "sender"
        elif job_type is not None:
            kind = "handler"
        else:
            kind = next((kind for part, kind in _KINDS.items() if part in name.lower()), "other")
        return Function(
            name=name,
            arn=listed["FunctionArn"],
            role=listed["Role"].rpartition("/")[2],
            kind=kind,
            job_type=job_type,
            environment=environment,
            configuration=listed,
        )

    @property
    def poller(self) -> Function:
        found = [each for each in self.functions if each.kind == "poller"]
        if not found:
            raise Wrong(f"no poller works on {self.jobs_table}. Deploy it, with this version of Leasehold.")
        return found[0]

    def policies_of(self, role: str) -> dict[str, dict[str, Any]]:
        """All that a role allows, by the names of its policies."""
        iam = self.client("iam")
        names = iam.list_role_policies(RoleName=role)["PolicyNames"]
        inline = {name: iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names}
        managed = {}
        for each in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]:
            version = iam.get_policy(PolicyArn=each["PolicyArn"])["Policy"]["DefaultVersionId"]
            answer = iam.get_policy_version(PolicyArn=each["PolicyArn"], VersionId=version)
            managed[each["PolicyName"]] = answer["PolicyVersion"]["Document"]
        return {name: _parsed(document) for name, document in {**inline, **managed}.items()}


def _parsed(document: Any) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(document) if isinstance(document, str) else document
    return parsed
