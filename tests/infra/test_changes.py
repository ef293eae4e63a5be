"""What a deployment that changes one setting does to what holds data: nothing is lost, or the table says so."""

from __future__ import annotations

import inspect
import json
from functools import cache
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Template
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from leasehold.cdk import JobQueue, JobQueueStore
from tests.infra.settings_table import SETTINGS, queue_with
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING

# What has something in it that a deployment would lose: records, messages, subscriptions, names that others know.
STATEFUL = (
    *("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::S3::BucketPolicy", "AWS::SQS::Queue", "AWS::SNS::Topic"),
    *("AWS::SNS::TopicPolicy", "AWS::SSM::Parameter", "AWS::Logs::LogGroup", "AWS::Scheduler::ScheduleGroup"),
)
# What is not a setting of the queue but a way to say what is in it, or where it lies.
NOT_SETTINGS = {
    *("self", "scope", "construct_id", "entry", "job_types", "handlers", "store", "probe"),
    *("concurrency_policy", "policy_folder", "dependency_layer", "layers", "vpc_subnets", "security_groups"),
    "dashboard",  # needs metrics_per_type; see test_stage_settings
}


@cache
def resources_with(setting: str | None) -> dict[str, dict[str, Any]]:
    _, queue = queue_with({setting: True} if setting else {})
    made = dict(Template.from_stack(Stack.of(queue)).to_json())
    return {name: each for name, each in made["Resources"].items() if name.startswith("Jobs")}


def lost(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> set[str]:
    """Types of stateful resources that leave the stack, or that CloudFormation would replace."""
    found = set()
    for name, resource in before.items():
        if resource["Type"] in STATEFUL and (name not in after or is_replaced(resource, after[name])):
            found.add(resource["Type"])
    return found


def is_replaced(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """By the properties that AWS's own schema of the type allows at creation only."""
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", before["Type"]).schema
    fixed = [*schema.get("createOnlyProperties", []), *schema.get("conditionalCreateOnlyProperties", [])]
    names = {each.removeprefix("/properties/").partition("/")[0] for each in fixed}
    old, new = before.get("Properties", {}), after.get("Properties", {})
    return any(old.get(each) != new.get(each) for each in names)


# They change one variable each; the others are all that 40 syntheses leave room for.
DEEP = ("poll_limit", "poll_interval", "log_level", "environment_name")


@pytest.mark.parametrize(
    "setting", [pytest.param(each, marks=pytest.mark.deep) if each in DEEP else each for each in SETTINGS]
)
def test_changing_a_setting_to_and_fro_loses_nothing_but_what_the_table_says(setting: str) -> None:
    usual, other = resources_with(None), resources_with(setting)

    assert json.dumps(usual) != json.dumps(other), "the setting changes something"
    assert "AWS::DynamoDB::Table" not in lost(usual, other)
    assert lost(usual, other) == SETTINGS[setting].leaves
    # Back again: what only the setting brings goes with it; all else must stay as it is.
    both = usual.keys() & other.keys()
    assert lost({name: other[name] for name in both}, usual) <= SETTINGS[setting].leaves


def test_every_setting_is_in_the_table() -> None:
    assert set(inspect.signature(JobQueue.__init__).parameters) - NOT_SETTINGS == set(SETTINGS)


def exports_for(**settings: Any) -> set[str]:
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    data, work = Stack(app, "Data"), Stack(app, "Work")
    store = JobQueueStore(data, "Store")
    store.export_streams()
    JobQueue(work, "Jobs", store=store, **settings)
    app.synth()
    outputs = Template.from_stack(data).to_json().get("Outputs", {})
    return {json.dumps([each["Export"], each["Value"]]) for each in outputs.values() if "Export" in each}


def test_nothing_that_another_stack_imports_changes_with_streams_switched() -> None:
    usual = exports_for(lifecycle_events=True)

    assert exports_for(lifecycle_events=False) == usual
    assert exports_for(wake_by_stream=False) == usual
