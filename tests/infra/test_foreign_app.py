"""Leasehold in somebody else's CDK app: two queues in one stack, its own VPC, key and functions."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aws_cdk import App, Stack, Tags
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from app import ROOT
from infra.gates import add_gates
from leasehold.aws.discovery import from_environment, named
from leasehold.cdk import JobQueue
from leasehold.cli.new import write_project
from leasehold.job_folders.folder import load_job_folder
from leasehold.kernel.errors import InvalidOptionError
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a deployment would lose, or stumble over, if its logical id changed.
FROZEN = {
    "AWS::DynamoDB::Table": {"ReportsStoreJobsTable15EB3B2C", "ReportsStoreDeadLettersTableBED40DAE"},
    "AWS::S3::Bucket": {"ReportsAuditRootsBucket41DC2416"},
    "AWS::SNS::Topic": {"ReportsAlertsC7734BA7"},
    "AWS::SSM::Parameter": {"ReportsNames4DACC805"},
    "AWS::Scheduler::ScheduleGroup": {"ReportsSchedulesGroup3391C9F9"},
    "AWS::SQS::Queue": {"ReportsPollerWakeUndeliveredB7CC22EF", "ReportsReporterFollowUndeliveredFDE9A7DB"},
}


@dataclass(frozen=True)
class Foreign:
    resources: dict[str, dict[str, Any]]
    report: dict[str, Any]

    def of_type(self, resource_type: str) -> dict[str, dict[str, Any]]:
        return {name: each for name, each in self.resources.items() if each["Type"] == resource_type}

    def environment_of(self, function: str) -> dict[str, str]:
        """Its variables, with logical ids in the place of names."""
        (found,) = (each for name, each in self.of_type("AWS::Lambda::Function").items() if name.startswith(function))
        variables = found["Properties"]["Environment"]["Variables"]
        return {name: as_text(value) for name, value in variables.items()}


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if "Ref" in value:
        return str(value["Ref"])
    return "".join(as_text(each) for each in value["Fn::Join"][1])


def producer(stack: Stack, name: str) -> lambda_.Function:
    code = lambda_.Code.from_inline("def handler(event, context): ...")
    return lambda_.Function(stack, name, runtime=lambda_.Runtime.PYTHON_3_13, handler="index.handler", code=code)


@cache
def foreign() -> Foreign:
    with tempfile.TemporaryDirectory(prefix="leasehold-foreign-") as folder:
        write_project("shop", Path(folder))
        out = Path(folder) / "out"
        app = App(context={**CONTEXT, **WITHOUT_BUNDLING}, outdir=str(out))
        stack = Stack(app, "Shop")
        vpc, key = ec2.Vpc(stack, "Vpc", max_azs=2), kms.Key(stack, "Key", enable_key_rotation=True)
        dead_letters = JobQueue(stack, "Letters", entry=Path(folder) / "shop" / "jobs", vpc=vpc, encryption_key=key)
        reports = JobQueue(stack, "Reports", job_types=[load_job_folder(ROOT, "daily_summary")])
        dead_letters.grant_enqueue(producer(stack, "OfOne"), "send_letter").assert_success()
        both = producer(stack, "OfBoth")
        dead_letters.grant_enqueue(both, "send_letter")
        reports.grant_enqueue(both, "daily_summary")
        add_gates(app)
        try:
            app.synth()
        except RuntimeError as error:  # what is found in the app's own resources fails it; the report says where
            if "ValidationFailed" not in str(error):
                raise
        template = json.loads((out / "Shop.template.json").read_text())
        return Foreign(template["Resources"], json.loads((out / "validation-report.json").read_text()))


def test_cdk_nag_finds_nothing_in_either_queue_that_is_not_acknowledged() -> None:
    found = [
        (violation["ruleName"], construct["constructPath"])
        for pack in foreign().report["pluginReports"]
        for violation in pack["violations"]
        for construct in violation["violatingConstructs"]
    ]

    assert [each for each in found if each[1].startswith(("Shop/Letters", "Shop/Reports"))] == []
    assert any(path.startswith("Shop/Vpc") for _, path in found), "what is the app's own was not looked at"


def test_each_queue_has_tables_of_its_own_and_no_resource_but_its_parameter_has_a_name_of_ours() -> None:
    tables = foreign().of_type("AWS::DynamoDB::Table") | foreign().of_type("AWS::DynamoDB::GlobalTable")
    parameters = foreign().of_type("AWS::SSM::Parameter").values()

    assert len(tables) == 4
    assert {each["Properties"]["Name"] for each in parameters} == {
        "/leasehold/Shop-Letters",
        "/leasehold/Shop-Reports",
    }
    assert not [each for each in tables.values() if "TableName" in each["Properties"]]
    assert not [
        each for each in foreign().of_type("AWS::Lambda::Function").values() if "FunctionName" in each["Properties"]
    ]


@pytest.mark.parametrize("resource_type", FROZEN)
def test_logical_ids_of_what_keeps_something_stay_as_they_were_released(resource_type: str) -> None:
    found = {name for name in foreign().of_type(resource_type) if name.startswith("Reports")}

    assert found >= FROZEN[resource_type], (
        "A construct was renamed or moved. To CloudFormation that is another resource: an upgrade would make an empty "
        "one beside the one with the users' data. Give it back its old id and place; add to FROZEN only what is new."
    )


def test_the_vpc_and_the_key_are_those_of_the_queue_that_was_given_them() -> None:
    functions = foreign().of_type("AWS::Lambda::Function")
    inside = {name for name, each in functions.items() if "VpcConfig" in each["Properties"]}
    encrypted = {
        name
        for name, each in foreign().of_type("AWS::DynamoDB::Table").items()
        if "KMSMasterKeyId" in each["Properties"].get("SSESpecification", {})
    }

    assert inside == {name for name in functions if name.startswith("Letters")}
    assert len(encrypted) == 2
    assert all(name.startswith("Letters") for name in encrypted)


def test_a_function_that_was_granted_one_queue_finds_it_without_a_name() -> None:
    address = from_environment(foreign().environment_of("OfOne"))

    assert address.queue_name == "Shop-Letters"
    assert address.jobs_table in foreign().resources
    assert address.jobs_table.startswith("Letters")


def test_a_function_that_was_granted_two_is_told_which_there_are_and_finds_each_by_its_name() -> None:
    environment = foreign().environment_of("OfBoth")

    with pytest.raises(InvalidOptionError, match=r"several queues.*Shop-Letters, Shop-Reports"):
        from_environment(environment)
    assert named("Shop-Reports", environment).jobs_table.startswith("Reports")


@pytest.mark.parametrize("nested", [False, True])
def test_what_an_app_grants_to_handlers_is_granted_also_where_they_run_each_other(nested: bool) -> None:
    stack = Stack(App(context={**CONTEXT, **WITHOUT_BUNDLING}), "Shop")
    folders = [load_job_folder(ROOT, name) for name in ("backup", "daily_summary")]
    queue = JobQueue(stack, "Jobs", job_types=folders, nested_stacks=nested)
    backup, summary = (queue.handlers[name].function for name in ("backup", "daily_summary"))

    s3.Bucket(stack, "Reports").grant_put(backup).assert_success()
    queue.grant_enqueue(backup, "daily_summary").assert_success()
    queue.grant_run_now(backup, "daily_summary").assert_success()
    queue.grant_run_now(summary, "backup").assert_success()

    # This fails where resources wait for each other in a circle.
    resources = Template.from_stack(stack).to_json()["Resources"]
    granted = [each for name, each in resources.items() if name.startswith("JobsGranted")]
    actions = [{action for each in statements_of(policy) for action in each[0]} for policy in granted]
    assert sorted("s3:PutObject" in each for each in actions) == [False, True]
    assert sorted("dynamodb:PartiQLInsert" in each for each in actions) == [False, True]
    assert all("lambda:InvokeFunction" in each for each in actions)


def test_a_handler_that_is_granted_nothing_has_no_policy_but_ours() -> None:
    assert [name for name in foreign().of_type("AWS::IAM::Policy") if "Granted" in name] == []


def test_tags_and_a_boundary_of_the_app_reach_what_is_in_nested_stacks_too() -> None:
    stack = Stack(App(context={**CONTEXT, **WITHOUT_BUNDLING}), "Shop")
    queue = JobQueue(stack, "Jobs", job_types=[load_job_folder(ROOT, "backup")], nested_stacks=True)
    boundary = iam.ManagedPolicy.from_managed_policy_name(stack, "Boundary", "most")
    Tags.of(queue).add("team", "billing")
    iam.PermissionsBoundary.of(queue).apply(boundary)

    nested = Stack.of(queue.handlers["backup"].function)
    assert nested is not stack
    made = [Template.from_stack(each).to_json()["Resources"] for each in (stack, nested)]
    for resource_type in ("AWS::Lambda::Function", "AWS::IAM::Role"):
        found = [each["Properties"] for one in made for each in one.values() if each["Type"] == resource_type]
        assert all({"Key": "team", "Value": "billing"} in each["Tags"] for each in found)
        assert len(found) > 4
    roles = [each["Properties"] for one in made for each in one.values() if each["Type"] == "AWS::IAM::Role"]
    assert all("most" in json.dumps(each["PermissionsBoundary"]) for each in roles)


def test_a_producer_in_another_stack_has_the_same_rights_by_attributes_as_by_the_queue_itself() -> None:
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    stack = Stack(app, "Producers")
    tables = [dynamodb.Table.from_table_name(stack, name, name) for name in ("jobs", "letters")]
    queue = JobQueue.from_job_queue_attributes(
        stack,
        "Queue",
        queue_name="Shop-Letters",
        jobs_table=tables[0],
        dead_letters_table=tables[1],
        job_types=["send_letter"],
    )

    queue.grant_enqueue(producer(stack, "Web"), "send_letter").assert_success()
    with pytest.raises(ValueError, match=r"there is no job type 'send_parcel'\. Deployed are: send_letter"):
        queue.grant_enqueue(producer(stack, "Other"), "send_parcel")

    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    ours = statements_of(policy)
    (theirs,) = (
        statements_of(each) for name, each in foreign().of_type("AWS::IAM::Policy").items() if name.startswith("OfOne")
    )
    # The queue's own key is named to the one, and not to the other.
    assert ours == [each for each in theirs if not any("kms:" in action for action in each[0])]


def statements_of(policy: Mapping[str, Any]) -> list[tuple[list[str], str]]:
    """Actions and conditions; which table they are of differs."""
    found = policy["Properties"]["PolicyDocument"]["Statement"]
    return [
        ([each["Action"]] if isinstance(each["Action"], str) else each["Action"], json.dumps(each.get("Condition")))
        for each in found
    ]
