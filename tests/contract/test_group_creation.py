"""Creating a group: nothing runs before all of it exists, a repeat finds it, and what broke off is gone on with."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import NewJob, Priority, Registry
from leasehold.groups.create import ABANDON_AFTER
from leasehold.groups.model import KEPT_FOR, GroupBrokenOffError, GroupExistsError, GroupState
from leasehold.groups.records import Groups
from leasehold.kernel.errors import StoreUnavailableError, SystemHaltedError
from leasehold.kernel.keys import partition_of
from leasehold.telemetry import Event
from tests.contract.grouping import callbacks, counts, group, jobs, make, members, run_out, states

if TYPE_CHECKING:
    from tests.contract.world import World

SECOND = timedelta(seconds=1)
both_modes = pytest.mark.parametrize("mode", ["sequential", "parallel"])


class Interrupted(BaseException):
    """The creation breaks off here."""


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Break the next creation off after so many of its transactions, and let those that follow be."""

    def arm(after: int) -> None:
        change_with = Groups.change_with
        left = [after]

        def breaking(groups: Groups, *args: Any, **options: Any) -> bool:
            if left[0] == 0:
                monkeypatch.setattr(Groups, "change_with", change_with)
                raise Interrupted
            left[0] -= 1
            return change_with(groups, *args, **options)

        monkeypatch.setattr(Groups, "change_with", breaking)

    return arm


def break_off(world: World, count: int, interrupt: Any, *, after: int, **options: Any) -> None:
    interrupt(after)
    with pytest.raises(Interrupted):
        make(world, count, **options)


def test_a_group_is_told_of_and_its_members_are_told_whose_they_are(world: World) -> None:
    made = world.queue.groups.create(jobs(2), group_id="import", created_by="ada")

    assert made.created
    assert made.group == group(world)
    assert [(job.group_id, job.member, job.created_by) for job in members(world)] == [
        ("import", 0, "ada"),
        ("import", 1, "ada"),
    ]
    (told,) = world.recorder.of(Event.GROUP_CREATED)
    assert told == {"group_id": "import", "mode": "sequential", "members": 2, "created_by": "ada"}
    assert len(world.recorder.of(Event.JOB_ENQUEUED)) == 2


def test_a_group_without_an_id_gets_one_of_its_own(world: World) -> None:
    first, second = (world.queue.groups.create(jobs(1)) for _ in range(2))

    assert first.group_id != second.group_id
    assert run_out(world) == ["completed", "completed"]


@both_modes
def test_nothing_runs_before_every_member_exists(world: World, interrupt: Any, mode: str) -> None:
    break_off(world, 60, interrupt, after=1, mode=mode)

    assert run_out(world) == []

    assert (group(world).state, group(world).made) == (GroupState.CREATING, 49)
    assert len(members(world)) == 49


@both_modes
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_creation_that_broke_off_is_gone_on_with_by_the_same_call(
    world: World, interrupt: Any, mode: str, after: int
) -> None:
    break_off(world, 60, interrupt, after=after, mode=mode, callback=NewJob(job="email"))
    world.clock.advance(timedelta(minutes=5))

    again = world.queue.groups.create(jobs(60), mode=mode, callback=NewJob(job="email"), group_id="import")

    assert not again.created
    assert again.group.state is GroupState.RUNNING
    assert run_out(world) == ["completed"] * 61
    assert counts(world) == ("completed", 60, 0, 0, 0)


def test_the_same_call_again_finds_the_group_and_makes_nothing(world: World) -> None:
    make(world, 2)
    world.work()
    before = members(world)

    again = world.queue.groups.create(jobs(2), group_id="import", created_by="somebody else")

    assert not again.created
    assert again.group == group(world)
    assert members(world) == before
    run_out(world)
    assert world.queue.groups.create(jobs(2), group_id="import").group.state is GroupState.COMPLETED


@pytest.mark.parametrize(
    "other",
    [
        {"count": 3},
        {"job_type": "email"},
        {"mode": "parallel"},
        {"on_failure": "continue"},
        {"callback": NewJob(job="email")},
    ],
    ids=str,
)
def test_the_same_id_for_something_else_is_refused(world: World, other: dict[str, Any]) -> None:
    make(world, 2)

    with pytest.raises(GroupExistsError, match="there is a group 'import' of other jobs already"):
        make(world, **{"count": 2, **other})

    assert run_out(world) == ["completed", "completed"]


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_creation_that_nobody_goes_on_with_is_given_up(world: World, interrupt: Any, after: int) -> None:
    break_off(world, 60, interrupt, after=after, callback=NewJob(job="email"))
    world.clock.advance(ABANDON_AFTER)

    assert run_out(world) == []

    made = [0, 49, 60][after]
    assert states(world) == ["cancelled"] * made
    assert counts(world) == ("cancelled", 0, 0, 60, 0)
    assert {job.cancel_reason for job in members(world)} <= {
        "group import was cancelled: its creation broke off 15 minutes ago"
    }
    assert callbacks(world) == []
    assert world.poll().scanned == 0


def test_a_creation_that_is_slow_but_goes_on_is_not_given_up(world: World, interrupt: Any) -> None:
    break_off(world, 60, interrupt, after=0)
    world.clock.advance(ABANDON_AFTER - SECOND)
    break_off(world, 60, interrupt, after=1)
    world.clock.advance(2 * SECOND)

    world.poll()
    assert group(world).state is GroupState.CREATING
    assert make(world, 60).state is GroupState.RUNNING

    assert run_out(world) == ["completed"] * 60


def test_a_creation_that_was_given_up_meanwhile_makes_no_more_members(world: World, monkeypatch: Any) -> None:
    change_with = Groups.change_with

    def sleepily(groups: Groups, *args: Any, **options: Any) -> bool:
        is_done = change_with(groups, *args, **options)
        monkeypatch.setattr(Groups, "change_with", change_with)
        # The machine is suspended after its first batch.
        world.clock.advance(ABANDON_AFTER)
        world.poll()
        return is_done

    monkeypatch.setattr(Groups, "change_with", sleepily)

    with pytest.raises(GroupBrokenOffError, match="Nothing of it has run"):
        make(world, 60)

    assert len(members(world)) == 49
    assert run_out(world) == []
    assert counts(world) == ("cancelled", 0, 0, 60, 0)


def test_a_group_that_was_given_up_can_be_made_anew(world: World, interrupt: Any) -> None:
    break_off(world, 3, interrupt, after=1)
    old = members(world)
    world.clock.advance(ABANDON_AFTER)
    world.poll()

    made = world.queue.groups.create(jobs(3), group_id="import")

    assert made.created
    assert run_out(world) == ["completed"] * 3
    assert counts(world) == ("completed", 3, 0, 0, 0)
    assert {job.job_id for job in members(world)}.isdisjoint(job.job_id for job in old)


def test_a_group_that_is_cancelled_while_it_is_made_never_runs(world: World, interrupt: Any) -> None:
    break_off(world, 60, interrupt, after=1, callback=NewJob(job="email"))
    world.queue.groups.cancel("import", reason="wrong file")

    with pytest.raises(GroupBrokenOffError, match="before all of it existed: wrong file"):
        make(world, 60, callback=NewJob(job="email"))
    assert run_out(world) == []

    assert counts(world) == ("cancelled", 0, 0, 60, 0)
    assert callbacks(world) == []


def test_members_that_are_cancelled_while_the_group_is_made_are_counted(world: World, interrupt: Any) -> None:
    break_off(world, 3, interrupt, after=1)
    for job in members(world)[:2]:
        world.queue.cancel(job.job_id, reason="not needed")
    world.poll()

    assert counts(world) == ("creating", 0, 0, 2, 0)
    assert make(world, 3).turn == 2
    assert run_out(world) == ["completed"]
    assert counts(world) == ("completed", 1, 0, 2, 0)


def test_an_id_is_free_again_when_the_group_s_retention_is_over(world: World) -> None:
    make(world, 1)
    run_out(world)
    world.clock.advance(KEPT_FOR)

    made = world.queue.groups.create(jobs(2, "email"), group_id="import")

    assert made.created
    assert run_out(world) == ["completed", "completed"]


def test_no_group_is_made_while_the_system_is_halted(world: World) -> None:
    world.operator.halt(reason="bad deploy")

    with pytest.raises(SystemHaltedError):
        make(world, 2)

    assert world.queue.groups.list() == []


def test_a_creation_stops_at_a_halt_and_can_be_gone_on_with(world: World, monkeypatch: Any) -> None:
    change_with = Groups.change_with

    def halting(groups: Groups, *args: Any, **options: Any) -> None:
        change_with(groups, *args, **options)
        monkeypatch.setattr(Groups, "change_with", change_with)
        world.operator.halt(reason="bad deploy")
        world.clock.advance(timedelta(seconds=10))

    monkeypatch.setattr(Groups, "change_with", halting)
    with pytest.raises(SystemHaltedError):
        make(world, 60)
    world.operator.resume()
    world.clock.advance(timedelta(seconds=10))

    make(world, 60)

    assert run_out(world) == ["completed"] * 60


def test_shards_that_are_added_later_do_not_change_where_members_are(world: World, interrupt: Any) -> None:
    break_off(world, 3, interrupt, after=1)
    world.operator.publish(Registry(types=world.types, shards=2))

    make(world, 3)

    assert [partition_of(job.job_id).shard for job in members(world)] == [0, 0, 0]
    assert run_out(world) == ["completed"] * 3


def test_large_members_are_made_in_transactions_that_the_store_takes(world: World) -> None:
    large = [NewJob(job="report", payload={"text": "x" * 190_000}) for _ in range(25)]

    world.queue.groups.create(large, group_id="import")

    assert len(members(world)) == 25


def test_a_creation_that_never_finds_the_group_as_it_was_says_so(world: World, monkeypatch: Any) -> None:
    monkeypatch.setattr(Groups, "begin", lambda *_args, **_options: False)

    with pytest.raises(StoreUnavailableError, match="changed 5 times during its creation"):
        make(world, 1, group_id=None)


def test_members_of_all_priorities_run_in_a_parallel_group(world: World) -> None:
    each = [NewJob(job="report", priority=priority) for priority in Priority]
    world.queue.groups.create(each, mode="parallel", group_id="import")

    assert run_out(world) == ["completed"] * 4
    assert counts(world) == ("completed", 4, 0, 0, 0)
