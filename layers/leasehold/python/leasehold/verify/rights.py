"""Rights: every role's policy is valid, allows each call that its function was recorded to make, and no foreign one."""

from __future__ import annotations

import json
from collections import defaultdict
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from leasehold.kernel.keys import JobPartition, make_job_id
from leasehold.verify.report import NotShown, StandIn, Wrong

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leasehold.verify.report import Report
    from leasehold.verify.site import Function, Site

# Of the policies of one role together, by IAM.
_LARGEST_INLINE = 10_240
type Asked = tuple[str, str, str]


def recorded_calls() -> dict[str, list[Asked]]:
    """By kind of function: the action, the table with its index, and the partition; `{type}` and `{code}` are its own.

    They are written down by the tests, which play all that functions do: tests/infra/test_recorded_calls.py.
    """
    read = json.loads(files("leasehold.verify").joinpath("recorded_calls.json").read_text())
    return {kind: [(action, place, partition) for action, place, partition in calls] for kind, calls in read.items()}


def check_rights(site: Site, report: Report) -> None:
    recorded = recorded_calls()
    for function in site.functions:
        policies: list[dict[str, Any]] = []
        with report.check("preflight", f"policy of {function.name}") as told:
            policies += site.policies_of(function)
            _validate(site, policies, told)
        if policies and function.kind in recorded:
            with report.check("preflight", f"rights of {function.name}") as told:
                _simulate(site, function, [json.dumps(each) for each in policies], recorded[function.kind], told)


def _validate(site: Site, policies: Sequence[dict[str, Any]], told: list[str]) -> None:
    if not policies:
        raise Wrong("its role has no policy at all. Deploy again.")
    size = sum(len(json.dumps(each, separators=(",", ":"))) for each in policies)
    told.append(f"{size:,} of {_LARGEST_INLINE:,} characters")
    if size > _LARGEST_INLINE:
        raise Wrong("it is larger than IAM takes")
    if site.is_local:
        problems = [problem for each in policies for problem in _stand_in(each)]
        if problems:
            raise Wrong("; ".join(problems))
        raise StandIn("shape, ids and actions looked at by Leasehold's stand-in for Access Analyzer")
    findings = [
        finding
        for each in map(json.dumps, policies)
        for finding in site.all(
            "accessanalyzer", "validate_policy", "findings", policyDocument=each, policyType="IDENTITY_POLICY"
        )
    ]
    errors = [each for each in findings if each["findingType"] in {"ERROR", "SECURITY_WARNING"}]
    if errors:
        raise Wrong("; ".join(f"{each['issueCode']}: {each['findingDetails']}" for each in errors))
    told.append(f"Access Analyzer: no error, {len(findings)} hints")


def _stand_in(document: Mapping[str, Any]) -> Iterator[str]:
    statements = document.get("Statement", [])
    ids = [each["Sid"] for each in statements if "Sid" in each]
    if document.get("Version") != "2012-10-17":
        yield f"its version is {document.get('Version')}"
    if len(ids) != len(set(ids)):
        yield "two statements have the same id"
    for each in statements:
        actions = each.get("Action", [])
        for action in [actions] if isinstance(actions, str) else actions:
            if ":" not in action or action.endswith(":*"):
                yield f"{each.get('Sid')}: the action {action} is none, or all of a service"
        if "Resource" not in each:
            yield f"{each.get('Sid')}: it names no resource"


def _simulate(site: Site, function: Function, policies: Sequence[str], calls: Sequence[Asked], told: list[str]) -> None:
    by_place: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for action, arn, partition in _of_this(site, function, calls):
        by_place[arn, partition].append(action)
    refused = [
        f"{action} on {arn.rpartition(':')[2]} {partition}"
        for (arn, partition), actions in by_place.items()
        for action in _refused(site, policies, actions, arn, partition)
    ]
    told.append(f"{sum(map(len, by_place.values()))} recorded calls")
    if refused:
        raise Wrong(f"it may not {', '.join(refused)}. Deploy again, or see what bounds its role.")
    # The jobs of some other type, where partitions are by type.
    handlers = [each for each in site.functions if each.kind == "handler"]
    homes = {each.name: _home(site, each.job_type).name for each in handlers if each.job_type}
    others = sorted({*homes.values()} - {homes.get(function.name, "")})
    if function.name in homes and others:
        if not _refused(site, policies, ["dynamodb:UpdateItem"], site.arn("jobs"), others[0]):
            raise Wrong(f"it may update jobs of another type, in {others[0]}")
        told.append("no job of another type")


def _refused(site: Site, policies: Sequence[str], actions: Sequence[str], arn: str, partition: str) -> list[str]:
    """Those of the actions that the policies do not allow there."""
    context = [
        {"ContextKeyName": f"dynamodb:{key}", "ContextKeyValues": values, "ContextKeyType": "stringList"}
        for key, values in {"LeadingKeys": [partition], "Attributes": ["PK", "SK"]}.items()
    ]
    try:
        answer = site.client("iam").simulate_custom_policy(
            PolicyInputList=policies,
            ActionNames=actions,
            ResourceArns=[arn],
            ContextEntries=context if partition else [],
        )
    except ClientError as error:
        if "AccessDenied" in str(error):
            raise NotShown("you may not call iam:SimulateCustomPolicy") from None
        raise
    allowed = {each["EvalActionName"] for each in answer["EvaluationResults"] if each["EvalDecision"] == "allowed"}
    return [action for action in actions if action not in allowed]


def _of_this(site: Site, function: Function, calls: Sequence[Asked]) -> Iterator[Asked]:
    """The recorded calls in the names of this deployment."""
    name = function.job_type or min(site.queue.services.deployment.registry().types, default="none")
    home = _home(site, name)
    job_id = make_job_id(site.queue.services.clock.now(), home, 7)
    for action, place, partition in calls:
        if action == "lambda:InvokeFunction":
            targets = [each for each in site.functions if each.kind == place]
            yield from ((action, each.configuration["FunctionArn"], "") for each in targets)
        else:
            own = partition.replace("{job}", home.name).replace("{type}", name).replace("{id}", job_id)
            yield action, site.arn(place), own


def _home(site: Site, job_type: str) -> JobPartition:
    return JobPartition(site.queue.services.deployment.registry().code_of(job_type))
