"""Grants for programs of one's own: each says what it allows, and all of them fit onto one role."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from infra.queue_stack import QueueStack
from infra.stages import STAGES
from tests.infra.iam import roles_of
from tests.infra.rights_table import COLUMNS, cells
from tests.infra.synthesised import synthesised
from tests.infra.test_rights import granted

if TYPE_CHECKING:
    from tests.infra.iam import Role

GRANTS = tuple(name for name in vars(QueueStack) if name.startswith("grant_"))
UPDATE, DELETE = "update", "delete"


def test_all_grants_fit_onto_one_role_and_no_id_of_a_statement_is_there_twice() -> None:
    role = granted(*GRANTS)

    assert len(GRANTS) == 10
    assert [sid for sid, count in Counter(each.sid for each in role.statements).items() if sid and count > 1] == []
    assert {each.effect for each in role.statements} == {"Allow"}


def test_a_reader_reads_every_kind_of_record_and_writes_none() -> None:
    decided = cells()

    assert {column: decided["`grant_read(...)`", column] for column in COLUMNS} == {each: ["read"] for each in COLUMNS}


def test_an_operator_changes_no_record_of_the_audit() -> None:
    decided = cells()

    allowed = decided["`grant_operate(...)`, HTTP API", "audit records"]
    assert not {UPDATE, DELETE} & set(allowed)


def _roles() -> list[tuple[str, Role]]:
    deployed = [(stage.name, role) for stage in STAGES for role in roles_of(synthesised(stage.name)).values()]
    return [*deployed, ("grants", granted(*GRANTS))]


def test_no_condition_on_a_set_is_met_by_a_call_that_names_nothing() -> None:
    """`ForAllValues` holds of nothing at all, so beside each there is a `Null` that asks for something."""
    checked = 0
    for where, role in _roles():
        for statement in role.statements:
            for operator, compared in statement.conditions.items():
                for key in compared if operator.startswith("ForAllValues:") else ():
                    checked += 1
                    named = statement.conditions.get("Null", {}).get(key)
                    assert named == "false", f"{where}: {role.name}, {statement.sid or statement.actions}"
    assert checked > 100


@pytest.mark.parametrize("grant", GRANTS)
def test_no_grant_allows_a_scan_or_every_action(grant: str) -> None:
    actions = {action for statement in granted(grant).statements for action in statement.actions}

    assert not [each for each in actions if "*" in each or each.endswith((":Scan", ":PartiQLSelect"))]
