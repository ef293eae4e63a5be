"""A customer key covers everything at rest, and whoever works with it may use it."""

from __future__ import annotations

import json

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Match, Template

from app import ROOT
from infra.environments import Environment
from infra.stacks import DataStack, QueueStack
from leasehold.cdk import JobQueue, JobQueueStore
from leasehold.job_folders.folder import load_job_folder
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING, stacks_of

type Made = tuple[Template, Template, Template]


@pytest.fixture(scope="module")
def made() -> Made:
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    stage = Environment(name="vault", customer_key=True)
    data = DataStack(app, "data", environment=stage)
    queue = QueueStack(app, "queue", environment=stage, data=data, folders=[])
    theirs = Stack(app, "theirs")
    queue.queue.grant_manage_templates(
        iam.Role(theirs, "Role", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
    )
    return Template.from_stack(data), Template.from_stack(queue), Template.from_stack(theirs)


def test_everything_at_rest_is_under_the_key(made: Made) -> None:
    data, queue, _ = made
    ours = {"Fn::ImportValue": Match.string_like_regexp("Key.*Arn")}

    data.resource_properties_count_is(
        "AWS::DynamoDB::Table", {"SSESpecification": {"SSEEnabled": True, "SSEType": "KMS"}}, 2
    )
    queue.all_resources_properties("AWS::SQS::Queue", {"KmsMasterKeyId": ours})
    queue.all_resources_properties("AWS::Logs::LogGroup", {"KmsKeyId": ours})
    queue.all_resources_properties("AWS::SNS::Topic", {"KmsMasterKeyId": ours})


def test_the_key_rotates_and_lets_alarms_and_logs_use_it(made: Made) -> None:
    (key,) = made[0].find_resources("AWS::KMS::Key").values()
    sids = {each.get("Sid") for each in key["Properties"]["KeyPolicy"]["Statement"]}

    assert key["Properties"]["EnableKeyRotation"] is True
    assert {"LetAlarmsPublish", "LetLogsEncrypt"} <= sids


def test_who_works_with_records_may_use_the_key(made: Made) -> None:
    """Lambda too, for it reads the streams and writes to the queues with the function's rights."""
    _, queue, theirs = made
    for template in (queue, theirs):
        policies = {
            name: each
            for name, each in template.find_resources("AWS::IAM::Policy").items()
            if "dynamodb:" in json.dumps(each)
        }
        assert policies
        assert all('"kms:GenerateDataKey"' in json.dumps(each) for each in policies.values())


def test_the_key_is_used_by_tables_and_queues_on_their_behalf_and_by_nobody_himself(made: Made) -> None:
    _, queue, theirs = made
    for template in (queue, theirs):
        for policy in template.find_resources("AWS::IAM::Policy").values():
            statements = policy["Properties"]["PolicyDocument"]["Statement"]
            for statement in statements:
                if "kms:" in json.dumps(statement["Action"]):
                    via = json.dumps(statement["Condition"]["StringEquals"]["kms:ViaService"])
                    assert ("dynamodb." in via, "sqs." in via) == (True, True)


def test_without_a_customer_key_nobody_needs_one() -> None:
    data, queue = (Template.from_stack(each) for each in stacks_of(Environment(name="plain")))

    data.resource_count_is("AWS::KMS::Key", 0)
    assert '"UseKey"' not in json.dumps(queue.to_json())


def test_the_key_of_tables_that_were_there_already_covers_the_rest_and_is_open_to_who_needs_it() -> None:
    stack = Stack(App(context={**CONTEXT, **WITHOUT_BUNDLING}), "restored")
    key = kms.Key(stack, "Key")
    arn = "arn:aws:dynamodb:eu-central-1:111122223333:table/restored"
    jobs, dead_letters = (
        dynamodb.Table.from_table_attributes(stack, name, table_arn=f"{arn}-{name}", table_stream_arn=f"{arn}/stream/1")
        for name in ("jobs", "letters")
    )
    store = JobQueueStore.from_tables(stack, "Store", jobs=jobs, dead_letters=dead_letters, encryption_key=key)
    queue = JobQueue(stack, "Jobs", store=store, job_types=[load_job_folder(ROOT, "daily_summary")])
    queue.grant_enqueue(
        iam.Role(stack, "R", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com")), "daily_summary"
    )

    template = Template.from_stack(stack)
    (policy,) = (each["Properties"]["KeyPolicy"] for each in template.find_resources("AWS::KMS::Key").values())
    assert {"LetAlarmsPublish", "LetLogsEncrypt"} <= {each.get("Sid") for each in policy["Statement"]}
    template.all_resources_properties("AWS::Logs::LogGroup", {"KmsKeyId": Match.any_value()})
    working = [each for each in template.find_resources("AWS::IAM::Policy").values() if "dynamodb:" in json.dumps(each)]
    assert [each for each in working if '"kms:GenerateDataKey"' not in json.dumps(each)] == []


def test_a_second_key_beside_that_of_the_store_is_refused() -> None:
    stack = Stack(App(context={**CONTEXT, **WITHOUT_BUNDLING}), "twice")

    with pytest.raises(ValueError, match=r"encryption_key and store: the store has the key\. Set it there"):
        JobQueue(stack, "Jobs", store=JobQueueStore(stack, "Store"), encryption_key=kms.Key(stack, "Key"))
