"""Grants for programs of one's own: each says what it allows, and all of them fit onto one role."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from app import job_folders
from infra.environments import ENVIRONMENTS, environment_named
from infra.stacks import DataStack, QueueStack
from leasehold.cdk import JobQueueBase
from tests.infra.iam import roles_of
from tests.infra.rights_table import COLUMNS, cells
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING, synthesised
from tests.infra.test_rights import BY_TYPE, granted

if TYPE_CHECKING:
    from tests.infra.iam import Role

ALL_GRANTS = tuple(name for name in vars(JobQueueBase) if name.startswith("grant_"))
# That one names a function, and has tests of its own: test_run_now_rights.py.
GRANTS = tuple(each for each in ALL_GRANTS if each != "grant_run_now")
UPDATE, DELETE = "update", "delete"


def test_all_grants_fit_onto_one_role_and_no_id_of_a_statement_is_there_twice() -> None:
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    stage = environment_named("dev")
    data = DataStack(app, "data", environment=stage)
    queue = QueueStack(app, "queue", environment=stage, data=data, folders=job_folders(stage))
    theirs = Stack(app, "theirs")
    role = iam.Role(theirs, "Role", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
    for name in (*ALL_GRANTS, *ALL_GRANTS):  # twice: a program may be given what it has
        named = ("backup",) if name in BY_TYPE or name == "grant_run_now" else ()
        getattr(queue.queue, name)(role, *named).assert_success()

    policies = Template.from_stack(theirs).find_resources("AWS::IAM::Policy").values()

    assert len(ALL_GRANTS) == 11
    for policy in policies:
        statements = policy["Properties"]["PolicyDocument"]["Statement"]
        assert len(statements) > len(ALL_GRANTS)
        ids = Counter(each["Sid"] for each in statements if "Sid" in each)
        assert [sid for sid, count in ids.items() if count > 1] == []


def test_a_reader_reads_every_kind_of_record_and_writes_none() -> None:
    decided = cells()

    assert {column: decided["`grant_read(...)`", column] for column in COLUMNS} == {each: ["read"] for each in COLUMNS}


def test_an_operator_changes_no_record_of_the_audit() -> None:
    decided = cells()

    allowed = decided["`grant_operate(...)`, HTTP API", "audit records"]
    assert not {UPDATE, DELETE} & set(allowed)


def _roles() -> list[tuple[str, Role]]:
    deployed = [(stage.name, role) for stage in ENVIRONMENTS for role in roles_of(synthesised(stage.name)).values()]
    return [*deployed, ("grants", granted(*GRANTS))]


def test_no_condition_on_a_set_is_met_by_a_call_that_names_nothing() -> None:
    """`ForAllValues` holds of nothing at all, so beside each there is a `Null` that asks for something.

    Not beside what must not be named: a call that names no attribute changes none of those (decision 24).
    """
    checked = 0
    for where, role in _roles():
        for statement in role.statements:
            for operator, compared in statement.conditions.items():
                for key in compared if operator in {"ForAllValues:StringLike", "ForAllValues:StringEquals"} else ():
                    checked += 1
                    named = statement.conditions.get("Null", {}).get(key)
                    assert named == "false", f"{where}: {role.name}, {statement.sid or statement.actions}"
    assert checked > 100


@pytest.mark.parametrize("grant", GRANTS)
def test_no_grant_allows_a_scan_or_every_action(grant: str) -> None:
    actions = {action for statement in granted(grant).statements for action in statement.actions}

    assert not [each for each in actions if "*" in each or each.endswith((":Scan", ":PartiQLSelect"))]
