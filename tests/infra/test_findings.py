"""What a fresh account, or a growing one, would refuse: each finding with a test of its own, here or where it says."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from aws_cdk import App, NestedStack, Stack, Stage
from aws_cdk.assertions import Template

from leasehold.cdk import JobQueue
from leasehold.kernel.table import DUE_INDEX
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING

# One view for ever: test_data_stack, and exports in test_changes. A key that knows the log groups: test_customer_key.
# Alarm widgets, resources, policies, readers of a stream: test_quotas. No reserve: test_stage_settings. The bucket of
# roots stays: below. No names, so nothing named stays behind: test_foreign_app. Keys that AWS owns: test_customer_key.


@cache
def template() -> dict[str, Any]:
    stack = Stack(App(context={**CONTEXT, **WITHOUT_BUNDLING}), "stack")
    JobQueue(stack, "Jobs")
    return dict(Template.from_stack(stack).to_json())


def of_type(kind: str) -> list[dict[str, Any]]:
    return [each for each in template()["Resources"].values() if each["Type"] == kind]


def test_a_bucket_with_roots_in_it_does_not_fail_the_deletion_of_its_stack() -> None:
    (bucket,) = of_type("AWS::S3::Bucket")

    assert bucket["DeletionPolicy"] == bucket["UpdateReplacePolicy"] == "Retain"


def test_no_concurrency_is_reserved_that_a_new_account_does_not_have() -> None:
    assert not [
        each for each in of_type("AWS::Lambda::Function") if "ReservedConcurrentExecutions" in each["Properties"]
    ]


def test_the_throttle_alarm_sees_the_due_index_which_throttles_first() -> None:
    (alarm,) = [each for each in of_type("AWS::CloudWatch::Alarm") if "due index refuses writes" in json.dumps(each)]
    watched = json.dumps(alarm["Properties"])

    assert DUE_INDEX.name in watched
    assert "WriteThrottleEvents" in watched


def test_a_first_deployment_that_fails_leaves_no_named_table_behind() -> None:
    assert not [each for each in of_type("AWS::DynamoDB::Table") if "TableName" in each["Properties"]]


def test_a_table_without_a_key_of_ones_own_makes_no_requests_to_kms_that_are_billed() -> None:
    tables = of_type("AWS::DynamoDB::Table")

    assert [each["Properties"]["SSESpecification"] for each in tables] == [{"SSEEnabled": False}] * 2


def test_a_stream_is_read_by_as_many_at_once_as_its_own_order_needs() -> None:
    assert not [
        each for each in of_type("AWS::Lambda::EventSourceMapping") if "ParallelizationFactor" in each["Properties"]
    ]


def test_queues_stand_in_stages_and_nested_stacks_several_in_one_app() -> None:
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    in_stage = JobQueue(Stack(Stage(app, "Prod"), "Shop"), "Jobs")
    stack = Stack(app, "Other")
    nested = JobQueue(NestedStack(stack, "Nested"), "Jobs")
    beside = JobQueue(stack, "Jobs")
    app.synth()

    names = [each.queue_name for each in (in_stage, nested, beside)]
    assert names == ["Prod-Shop-Jobs", "Other-Nested-Jobs", "Other-Jobs"]
