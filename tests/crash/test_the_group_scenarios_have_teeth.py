"""With one guard of groups taken away, the crash tests fail: they would notice if it were lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.groups import ends
from leasehold.groups import records as group_records
from leasehold.groups import records as groups
from leasehold.groups.records import Groups
from leasehold.kernel.jobs import Jobs, transition
from leasehold.kernel.table import Above, Equals, Put, Update
from tests.crash.faults import Fault
from tests.crash.grouping import SCENARIOS
from tests.crash.harness import strike_everywhere

if TYPE_CHECKING:
    from leasehold.groups.model import Group
    from leasehold.kernel.jobs import Write
    from tests.crash.scenario import Scenario
    from tests.crash.world import Site

pytestmark = [pytest.mark.dynoxide]


def scenario(name: str) -> Scenario:
    found = next(each for each in SCENARIOS if each.name == name)
    # Under a name of its own: the course of the unharmed scenario is remembered for other tests.
    return replace(found, name=f"harmed: {name}")


def without(monkeypatch: pytest.MonkeyPatch, *attributes: str) -> None:
    """Let changes of a group be made whatever these attributes are by now."""
    change_of = group_records.change_of

    def careless(seen: Group, after: Group) -> Update:
        change = change_of(seen, after)
        kept = [each for each in change.conditions if _attribute(each) not in attributes]
        return replace(change, conditions=tuple(kept))

    for user in (groups, ends):
        monkeypatch.setattr(user, "change_of", careless)


def _attribute(condition: object) -> str:
    return condition.attribute if isinstance(condition, Equals | Above) else ""


def one_by_one(store: Groups, seen: Group, after: Group, changes: Any, *, token: str) -> bool:
    """What should be one transaction, as writes of their own."""
    for change in [group_records.change_of(seen, after), *changes]:
        store._table.write(change)
    return True


def settled_one_by_one(store: Jobs, write: Write, changes: Any, **_: object) -> None:
    for change in [*changes, transition(write)]:
        store._table.write(change)


@pytest.mark.parametrize(
    "name",
    ["count a member's end and let the next in", "count the last end and call back", "create a sequential group"],
)
def test_a_step_of_a_group_that_is_not_one_transaction_is_noticed(
    site: Site, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(Groups, "change_with", one_by_one)
    monkeypatch.setattr(Jobs, "apply_with", settled_one_by_one)
    with pytest.raises(AssertionError):
        strike_everywhere(site, scenario(name), Fault.KILL_AFTER)


def test_members_that_are_made_after_the_group_was_given_up_are_noticed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "state", "made", "made_at")
    monkeypatch.setattr(Put, "guards", property(lambda put: put.conditions or ()))
    with pytest.raises(AssertionError):
        strike_everywhere(site, scenario("create a sequential group"), Fault.KILL_LATE)


def test_a_last_end_that_does_not_know_that_it_is_the_last_is_noticed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leasehold.groups.model import Group

    monkeypatch.setattr(Group, "finished", lambda group, _now: group)
    with pytest.raises(AssertionError):
        strike_everywhere(site, scenario("count the last end and call back"), Fault.KILL_BEFORE)
