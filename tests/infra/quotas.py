"""AWS's quotas that a deployment could meet, with who says so, and how near a set of templates comes to each.

docs/aws.md shows the table.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

type Resources = Mapping[str, Mapping[str, Any]]

_CFN = "https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html"
_IAM = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html"
_LAMBDA = "https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html"
_WATCH = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html"
_STREAMS = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html"
_SSM = "https://docs.aws.amazon.com/general/latest/gr/ssm.html"
_WIDGET = "https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html"
# As long as names get: CloudFormation cuts those of functions and roles at 64; a table's has the stack's name, here 25
# characters, the logical id and 13 more. The CDK, which splits policies of an app's own roles, expects no longer ones.
_SHORT, _LONG = 64, 66
_CUT = ("AWS::Lambda::Function", "AWS::IAM::Role", "AWS::Scheduler::ScheduleGroup")


@dataclass(frozen=True)
class Quota:
    """worst: the largest figure in one template. kept: what keeps a deployment below, for people."""

    name: str
    limit: int
    source: str
    kept: str
    worst: Callable[[Mapping[str, Any]], int]


def _resources(template: Mapping[str, Any]) -> Resources:
    found: Resources = template["Resources"]
    return found


def _of(template: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    return (each.get("Properties", {}) for each in _resources(template).values() if each["Type"] == kind)


def filled_in(value: Any, resources: Resources) -> Any:
    """References as texts of the length that they may have."""
    match value:
        case {"Ref": str(name)}:
            return _name(name, resources)
        case {"Fn::GetAtt": [name, attribute]}:
            stream = "/stream/2026-01-01T00:00:00.000" if attribute == "StreamArn" else ""
            return f"arn:aws:dynamodb:ap-southeast-2:111122223333:function:{_name(name, resources)}{stream}"
        case {"Fn::Join": [separator, parts]}:
            return separator.join(str(filled_in(each, resources)) for each in parts)
        case dict():
            return {name: filled_in(each, resources) for name, each in value.items()}
        case list():
            return [filled_in(each, resources) for each in value]
        case _:
            return value


def _name(name: str, resources: Resources) -> str:
    if name.startswith("AWS::"):
        return "ap-southeast-2"
    kind = resources[name]["Type"] if name in resources else "parameter"
    return "n" * (_SHORT if kind in _CUT or kind.startswith("AWS::CloudFormation") else _LONG)


def _compact(value: Any, resources: Resources) -> int:
    """Characters without white space, as IAM counts."""
    return len(json.dumps(filled_in(value, resources), separators=(",", ":")).replace(" ", ""))


def _inline(template: Mapping[str, Any]) -> int:
    """All policies of one role together."""
    sizes: Counter[str] = Counter()
    for policy in _of(template, "AWS::IAM::Policy"):
        for role in policy["Roles"]:
            sizes[json.dumps(role)] += _compact(policy["PolicyDocument"], _resources(template))
    return max(sizes.values(), default=0)


def _managed(template: Mapping[str, Any]) -> int:
    found = _of(template, "AWS::IAM::ManagedPolicy")
    return max((_compact(each["PolicyDocument"], _resources(template)) for each in found), default=0)


def _managed_per_role(template: Mapping[str, Any]) -> int:
    roles = [json.dumps(role) for each in _of(template, "AWS::IAM::ManagedPolicy") for role in each.get("Roles", [])]
    attached = [len(each.get("ManagedPolicyArns", [])) for each in _of(template, "AWS::IAM::Role")]
    return max([*Counter(roles).values(), *attached], default=0)


def _equal_sids(template: Mapping[str, Any]) -> int:
    """How often the commonest id of a statement is in one policy."""
    worst = 0
    for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
        for policy in _of(template, kind):
            sids = [each["Sid"] for each in policy["PolicyDocument"]["Statement"] if "Sid" in each]
            worst = max(worst, *Counter(sids).values(), 0) if sids else worst
    return worst


def _environment(template: Mapping[str, Any]) -> int:
    found = [each.get("Environment", {}).get("Variables", {}) for each in _of(template, "AWS::Lambda::Function")]
    return max((_compact(each, _resources(template)) for each in found), default=0)


def _layers(template: Mapping[str, Any]) -> int:
    return max((len(each.get("Layers", [])) for each in _of(template, "AWS::Lambda::Function")), default=0)


def _widgets(template: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for each in _of(template, "AWS::CloudWatch::Dashboard"):
        found += json.loads(filled_in(each["DashboardBody"], _resources(template)))["widgets"]
    return found


def _metrics(widget: Mapping[str, Any]) -> int:
    return len(widget["properties"].get("metrics", []))


def _readers(template: Mapping[str, Any]) -> int:
    found = _of(template, "AWS::Lambda::EventSourceMapping")
    return max(Counter(json.dumps(each["EventSourceArn"]) for each in found).values(), default=0)


def _parameters(template: Mapping[str, Any]) -> int:
    found = _of(template, "AWS::SSM::Parameter")
    return max((len(str(filled_in(each["Value"], _resources(template)))) for each in found), default=0)


def _published(template: Mapping[str, Any]) -> int:
    found = _of(template, "Custom::LeaseholdRegistry")
    return max((_compact(each, _resources(template)) for each in found), default=0)


def _names(template: Mapping[str, Any]) -> int:
    return max(
        (len(str(each["Name"])) for each in _of(template, "AWS::Scheduler::Schedule") if "Name" in each), default=0
    )


QUOTAS = (
    Quota(
        "resources of a stack",
        500,
        _CFN,
        "above 30 job types their functions are in 16 nested stacks",
        lambda template: len(_resources(template)),
    ),
    Quota(
        "bytes of a template",
        1_000_000,
        _CFN,
        "the same; a dashboard has rows of single types up to 40",
        lambda template: len(json.dumps(template, indent=1)),
    ),
    Quota(
        "outputs of a stack",
        200,
        _CFN,
        "a nested stack has the types whose names hash to it",
        lambda template: len(template.get("Outputs", {})),
    ),
    Quota("parameters of a stack", 200, _CFN, "the same", lambda template: len(template.get("Parameters", {}))),
    Quota(
        "characters of a role's own policies",
        10_240,
        _IAM,
        "rights that grow with job types are in managed policies above 15 of them",
        _inline,
    ),
    Quota(
        "characters of a managed policy",
        6_144,
        _IAM,
        "45 functions or partitions in each; the CDK splits what an app grants to one role",
        _managed,
    ),
    Quota("managed policies of a role", 10, _IAM, "so up to 450 job types", _managed_per_role),
    Quota("statements of a policy with one id", 1, _IAM, "grants have no ids", _equal_sids),
    Quota("bytes of a function's variables", 4_096, _LAMBDA, "a job.toml has 3 KB of them", _environment),
    Quota("layers of a function", 5, _LAMBDA, "Leasehold has two, its poller's policy a third", _layers),
    Quota(
        "alarms of a dashboard's widget",
        100,
        _WIDGET,
        "as many widgets as it takes",
        lambda template: max((len(each["properties"].get("alarms", [])) for each in _widgets(template)), default=0),
    ),
    Quota(
        "widgets of a dashboard", 500, _WATCH, "rows of single types up to 40", lambda template: len(_widgets(template))
    ),
    Quota(
        "metrics of a widget",
        500,
        _WATCH,
        "a line for each job type",
        lambda template: max(map(_metrics, _widgets(template)), default=0),
    ),
    Quota(
        "metrics of a dashboard",
        2_500,
        _WATCH,
        "rows of single types up to 40",
        lambda template: sum(map(_metrics, _widgets(template))),
    ),
    Quota(
        "readers of a stream's shard",
        2,
        _STREAMS,
        "the poller and lifecycle_events; no room for one of yours",
        _readers,
    ),
    Quota("characters of an SSM parameter", 4_096, _SSM, "names only", _parameters),
    Quota("bytes that a custom resource is told", 262_144, _LAMBDA, "about 1 KB for each job type", _published),
    Quota(
        "characters of a schedule's name",
        64,
        "https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html",
        "longer names end in a hash",
        _names,
    ),
)


def exceeded(template: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Quotas that this template does not keep, with the figure and the limit."""
    found = {quota.name: (quota.worst(template), quota.limit) for quota in QUOTAS}
    return {name: (figure, limit) for name, (figure, limit) in found.items() if figure > limit}
