"""The page about the data model leaves nothing of a group out."""

from __future__ import annotations

from dataclasses import MISSING, fields
from datetime import UTC, datetime

import pytest

from leasehold.groups.create import ABANDON_AFTER
from leasehold.groups.model import KEPT_FOR, MAX_MEMBERS, Group, GroupMode, GroupState, OnFailure
from leasehold.groups.records import group_record
from tests.docs.markdown import text_of

PAGE = text_of("docs/data-model.md")
SECTION = PAGE.partition("### Groups")[2].partition("\n#")[0]
AT = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
FULL = Group(
    group_id="g",
    mode=GroupMode.SEQUENTIAL,
    on_failure=OnFailure.STOP,
    total=9,
    left=5,
    created_at=AT,
    created_by="ada",
    state=GroupState.STOPPING,
    completed=1,
    failed=1,
    cancelled=1,
    skipped=1,
    reason="r",
    ended_at=AT,
    callback="tell",
    content="c",
    stamp="s",
    shards=2,
    callback_code=7,
    codes=b"\0\7",
    made=9,
    made_at=AT,
    turn=1,
    swept=9,
    abandoned=True,
    due_key="k",
    wake=True,
    expires_at=1,
)


def test_the_sample_of_this_test_leaves_no_field_at_its_default() -> None:
    assert [each.name for each in fields(FULL) if getattr(FULL, each.name) == each.default is not MISSING] == []


@pytest.mark.parametrize("name", sorted(group_record(FULL)))
def test_every_attribute_of_a_group_is_explained(name: str) -> None:
    assert f"`{name}`" in SECTION


@pytest.mark.parametrize("state", GroupState)
def test_every_state_of_a_group_is_named(state: GroupState) -> None:
    assert f"`{state}`" in SECTION


def test_the_limits_are_those_of_the_code() -> None:
    assert f"| members of a group | {MAX_MEMBERS} |" in PAGE
    assert f"kept for {KEPT_FOR.days} days after its end" in SECTION
    assert f"no member for {ABANDON_AFTER.total_seconds() / 60:g} minutes" in SECTION
