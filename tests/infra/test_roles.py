"""Every statement of every role: named actions on named resources, and nothing that nobody wrote down."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from app import ROOT, job_folders
from infra.environments import ENVIRONMENTS, environment_named
from leasehold.cdk import JobQueue
from leasehold.job_folders.folder import load_job_folder
from tests.infra import policy_snapshot
from tests.infra.cloudformation import ACCOUNT, REGION, Resolver
from tests.infra.iam import Role, Statement, roles_of
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING, synthesised

STAGE_NAMES = [stage.name for stage in ENVIRONMENTS]

# The only wildcards in a role's resources, and why AWS allows nothing narrower.
WILDCARDS = {
    r"arn:aws:logs:[^:*]+:\d+:log-group:[^:*]+:\*": "Lambda names the log streams of a function's own group",
    r"arn:aws:s3:::[^/*]*AuditRoots[^/*]*/roots/\*": "a daily root's key is its date",
    r"arn:aws:scheduler:[^:*]+:\d+:schedule/leasehold-[^/*]+/\*": "users name the group's schedules at run time",
    r"arn:aws:secretsmanager:[^:*]+:\d+:secret:[^*?]+-\?{6}": "Secrets Manager adds six characters to a secret's name",
}
# Actions that name no resource at all.
WITHOUT_RESOURCE = {"dynamodb:ListStreams"}

# Characters without whitespace, by IAM: of all of a role's own policies together, and of a managed one.
LARGEST_INLINE, LARGEST_MANAGED = 10_240, 6_144

Case = tuple[str, Role]


def all_roles() -> list[Case]:
    return [(stage, role) for stage in STAGE_NAMES for role in roles_of(synthesised(stage)).values()]


def statements() -> list[tuple[str, Statement]]:
    return [(f"{stage}: {role.name}: {each.sid}", each) for stage, role in all_roles() for each in role.statements]


def test_no_action_has_a_wildcard() -> None:
    assert [
        place for place, each in statements() if any("*" in action or "?" in action for action in each.actions)
    ] == []


def test_no_resource_has_a_wildcard_except_where_aws_allows_nothing_else() -> None:
    unexplained = [
        (place, resource) for place, each in statements() for resource in each.resources if is_wild(each, resource)
    ]

    assert unexplained == []


def is_wild(statement: Statement, resource: str) -> bool:
    if "*" not in resource and "?" not in resource:
        return False
    if resource == "*":
        return not set(statement.actions) <= WITHOUT_RESOURCE
    return not any(re.fullmatch(pattern, resource) for pattern in WILDCARDS)


@pytest.mark.parametrize(
    "resource",
    [
        "*",
        "arn:aws:dynamodb:eu-central-1:1:table/x/index/*",
        "arn:aws:logs:eu-central-1:1:log-group:*",
        "arn:aws:s3:::b/*",
    ],
)
def test_a_wildcard_that_nobody_explained_is_noticed(resource: str) -> None:
    assert is_wild(Statement("", "Allow", ("dynamodb:GetItem",), (resource,)), resource)


def test_a_statement_allows_and_says_what_it_is_for() -> None:
    assert [place for place, each in statements() if each.effect != "Allow" or not each.sid] == []


def test_nobody_may_scan_a_table() -> None:
    assert [place for place, each in statements() if "dynamodb:Scan" in each.actions] == []


def test_no_role_has_a_managed_policy() -> None:
    assert [role.name for _, role in all_roles() if role.managed_policies] == []


def test_job_records_are_reached_by_named_partitions_only() -> None:
    """On the job table itself, every statement is narrowed to the kinds of records that the function works on."""
    for place, each in statements():
        on_jobs = [resource for resource in each.resources if re.fullmatch(r".*:table/leasehold-\w+-jobs", resource)]
        if on_jobs:
            keys = each.conditions["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
            assert keys, place
            assert "*" not in keys, place


@pytest.mark.parametrize("stage", STAGE_NAMES)
def test_every_function_has_a_role_of_its_own(stage: str) -> None:
    functions = synthesised(stage).of_type("AWS::Lambda::Function").values()
    roles = [json.dumps(each["Properties"]["Role"]) for each in functions]

    assert len(functions) > len(job_folders(environment_named(stage)))
    assert len(set(roles)) == len(functions)


@pytest.mark.parametrize("stage", STAGE_NAMES)
def test_a_role_is_assumed_by_the_one_service_that_needs_it(stage: str) -> None:
    made = synthesised(stage)
    functions = {each["Properties"]["FunctionName"] for each in made.of_type("AWS::Lambda::Function").values()}
    for role in roles_of(made).values():
        (trust,) = role.trust["Statement"]
        if role.name not in functions:
            assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
            assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": ACCOUNT}}
        else:
            assert trust["Principal"] == {"Service": "lambda.amazonaws.com"}


@pytest.mark.parametrize("stage", STAGE_NAMES)
def test_the_poller_may_invoke_every_handler_and_itself_and_nothing_else(stage: str) -> None:
    roles = roles_of(synthesised(stage))
    handlers = [name for name in roles if name.startswith(f"leasehold-{stage}-job-")]
    poller = roles[f"leasehold-{stage}-poller"]

    (hand_over,) = [each for each in poller.statements if "lambda:InvokeFunction" in each.actions]

    invoked = [*handlers, f"leasehold-{stage}-webhook-sender", poller.name]
    expected = [f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}" for name in invoked]
    assert len(handlers) == len(job_folders(environment_named(stage)))
    assert sorted(hand_over.resources) == sorted(expected)


def test_only_the_key_policy_says_star_and_there_it_means_the_key_itself() -> None:
    """Resource policies: queue and topic refuse plain HTTP to everybody; the key's policy can name no resource."""
    stage = synthesised("prod")
    resolver = Resolver(stage)
    kinds = {
        "AWS::SQS::QueuePolicy": "PolicyDocument",
        "AWS::SNS::TopicPolicy": "PolicyDocument",
        "AWS::KMS::Key": "KeyPolicy",
    }
    for kind, name in kinds.items():
        documents = [resolver.resolve(each["Properties"][name]) for each in stage.of_type(kind).values()]
        assert documents, kind
        for statement in (each for document in documents for each in document["Statement"]):
            allows_everybody = statement["Effect"] == "Allow" and statement["Principal"] in ("*", {"AWS": "*"})
            assert not allows_everybody
            if kind != "AWS::KMS::Key":
                assert statement["Resource"] != "*"
            if is_service(statement):
                assert statement.get("Condition"), "a service may act for this account only"


def is_service(statement: dict[str, Any]) -> bool:
    return isinstance(statement["Principal"], dict) and "Service" in statement["Principal"]


@pytest.mark.parametrize("stage", policy_snapshot.ENVIRONMENTS)
def test_the_policies_are_the_ones_that_were_reviewed(stage: str) -> None:
    made = policy_snapshot.snapshot_of(stage)
    seen = policy_snapshot.committed(stage)

    changed = sorted(name for name in made.keys() | seen.keys() if made.get(name) != seen.get(name))
    assert changed == [], "rights have changed: run `make policies`, review the difference and commit it"


def test_with_forty_job_types_a_role_s_own_policies_stay_below_what_iam_takes() -> None:
    backup = load_job_folder(ROOT, "backup")
    assert backup.schedule is not None
    folders = [
        replace(
            backup,
            job_type=replace(backup.job_type, name=f"type_{n}", code=0x1000 + n),
            schedule=replace(backup.schedule, name=f"type_{n}", job_type=f"type_{n}"),
        )
        for n in range(40)
    ]
    stack = Stack(App(context={**CONTEXT, **WITHOUT_BUNDLING}), "Many")
    JobQueue(stack, "Jobs", job_types=folders, encryption_key=kms.Key(stack, "Key"))
    template = Template.from_stack(stack)

    sizes: Counter[str] = Counter()
    for policy in template.find_resources("AWS::IAM::Policy").values():
        document = json.dumps(at_its_longest(policy["Properties"]["PolicyDocument"]), separators=(",", ":"))
        sizes[policy["Properties"]["Roles"][0]["Ref"]] += len(document)
    apart = template.find_resources("AWS::IAM::ManagedPolicy")
    (registry,) = template.find_resources("Custom::LeaseholdRegistry").values()

    assert max(sizes.values()) < LARGEST_INLINE
    assert any(role.startswith("JobsPoller") for role in sizes)
    assert len(apart) == 2
    for policy in apart.values():
        document = json.dumps(at_its_longest(policy["Properties"]["PolicyDocument"]), separators=(",", ":"))
        assert len(document) < LARGEST_MANAGED
    assert set(apart) <= set(registry["DependsOn"]), "handlers are asked before the right to ask them is there"


def at_its_longest(value: Any) -> Any:
    """With what CloudFormation fills in: names of functions have 64 characters."""
    if isinstance(value, list):
        return [at_its_longest(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "Fn::GetAtt" in value:
        return f"arn:aws:lambda:ap-southeast-1:{ACCOUNT}:function:{'x' * 64}"
    if "Ref" in value:
        return {"AWS::Partition": "aws", "AWS::AccountId": ACCOUNT}.get(value["Ref"], "x" * 14)
    if "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        return separator.join(at_its_longest(parts))
    return {name: at_its_longest(each) for name, each in value.items()}
