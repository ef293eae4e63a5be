"""The stack's tables are the ones that the library works with, and they are hard to lose."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from aws_cdk import App
from aws_cdk.assertions import Match, Template

from infra.environments import ENVIRONMENTS, Environment
from infra.stacks import DataStack
from leasehold.kernel.table import DEAD_LETTERS, ENDED_INDEX, JOBS
from tests.infra.cloudformation import with_names
from tests.tables import creation_request

if TYPE_CHECKING:
    from leasehold.kernel.table import TableDefinition

TABLE = "AWS::DynamoDB::Table"
DEV, PROD = (next(stage for stage in ENVIRONMENTS if stage.name == name) for name in ("dev", "prod"))


@cache
def template_of(stage: Environment) -> Template:
    stack = DataStack(App(context={"aws:cdk:enable-path-metadata": True}), "data", environment=stage)
    return Template.from_json(with_names(dict(Template.from_stack(stack).to_json()), stage.name))


@pytest.fixture(scope="module")
def dev() -> Template:
    return template_of(DEV)


@pytest.fixture(scope="module")
def prod() -> Template:
    return template_of(PROD)


def table_named(template: Template, name: str) -> dict[str, Any]:
    found = template.find_resources(TABLE, {"Properties": {"TableName": name}})
    assert len(found) == 1, f"one table is named {name}"
    return dict(*found.values())


@pytest.mark.parametrize(
    ("definition", "name"), [(JOBS, "leasehold-dev-jobs"), (DEAD_LETTERS, "leasehold-dev-dead-letters")]
)
def test_a_deployed_table_equals_the_one_that_the_library_creates_itself(
    dev: Template, definition: TableDefinition, name: str
) -> None:
    deployed = table_named(dev, name)["Properties"]
    created = creation_request(definition, name)

    assert deployed["KeySchema"] == created["KeySchema"]
    assert deployed["GlobalSecondaryIndexes"] == created["GlobalSecondaryIndexes"]
    assert deployed["BillingMode"] == created["BillingMode"]
    assert sorted(map(str, deployed["AttributeDefinitions"])) == sorted(map(str, created["AttributeDefinitions"]))
    assert deployed["TimeToLiveSpecification"] == {"AttributeName": definition.ttl, "Enabled": True}


@pytest.mark.parametrize("stage", ENVIRONMENTS, ids=lambda stage: stage.name)
def test_every_table_can_be_restored_and_is_followed_by_a_stream(stage: Environment) -> None:
    template = template_of(stage)

    template.resource_count_is(TABLE, 2)
    template.all_resources_properties(
        TABLE,
        {
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
            "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
        },
    )


def test_production_keeps_its_tables_whatever_happens_to_the_stack(prod: Template) -> None:
    prod.all_resources(TABLE, {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"})
    prod.all_resources_properties(TABLE, {"DeletionProtectionEnabled": True})


def test_development_leaves_nothing_behind(dev: Template) -> None:
    dev.all_resources(TABLE, {"DeletionPolicy": "Delete"})
    dev.all_resources_properties(TABLE, {"DeletionProtectionEnabled": Match.any_value()})
    for table in dev.find_resources(TABLE).values():
        assert table["Properties"]["DeletionProtectionEnabled"] is False


def test_a_stage_without_the_ended_index_has_only_the_due_index() -> None:
    template = template_of(Environment(name="lean", keeps_data=False, props={"ended_index": False}))

    indexes = table_named(template, "leasehold-lean-jobs")["Properties"]["GlobalSecondaryIndexes"]
    assert [index["IndexName"] for index in indexes] == [
        index.name for index in JOBS.indexes if index is not ENDED_INDEX
    ]
